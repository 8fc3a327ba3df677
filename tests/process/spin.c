// A thread that waits for another one by reading memory only, with no call in between, and one that reads a
// clock.
#include <pthread.h>

#include "expect.h"

static volatile int ball;

static void* other(void* unused) {
  for (int i = 0; i < 20; ++i) {
    while (ball != 2 * i + 1) {
    }
    sleep_ms(1);
    ball = 2 * i + 2;
  }
  return unused;
}

int main(void) {
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, other, NULL) == 0);
  for (int i = 0; i < 20; ++i) {
    ball = 2 * i + 1;
    while (ball != 2 * i + 2) {
    }
  }
  EXPECT(pthread_join(thread, NULL) == 0);
  printf("ball: %d\n", ball);

  const int64_t until = now_ns() + 3000000;
  while (now_ns() < until) {
  }
  printf("clock: done\n");
  return 0;
}

// Storage of threads: __thread variables, keys and their destructors, in threads that return, exit and are
// cancelled.
#include <pthread.h>
#include <unistd.h>

#include "tests/process/expect.h"

static __thread int number = 40;
static __thread char buffer[5000];
static pthread_key_t key, second;
static int destroyed, sum, rounds;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int made;

static void destroy(void* value) {
  ++destroyed;
  sum += *(int*)value;
}
static void destroy_again(void* value) {
  if (++rounds < 3) pthread_setspecific(second, value);
}
static void make(void) { ++made; }

static void* run(void* argument) {
  const int how = (int)(intptr_t)argument;
  pthread_once(&once, make);
  EXPECT(number == 40 && buffer[4999] == 0 && pthread_getspecific(key) == NULL);
  number += how;
  memset(buffer, how, sizeof buffer);
  EXPECT(pthread_setspecific(key, &number) == 0);
  if (how == 1) EXPECT(pthread_setspecific(second, &number) == 0);
  sleep_ms(10);
  EXPECT(number == 40 + how && buffer[0] == how);
  if (how == 2) pthread_exit(&made);
  if (how == 3) {
    while (1) pause();
  }
  return NULL;
}

int main(void) {
  EXPECT(pthread_key_create(&key, destroy) == 0 && pthread_key_create(&second, destroy_again) == 0);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) EXPECT(pthread_create(&threads[i], NULL, run, (void*)(intptr_t)(i + 1)) == 0);
  sleep_ms(50);
  EXPECT(pthread_cancel(threads[2]) == 0);
  void* results[3];
  for (int i = 0; i < 3; ++i) EXPECT(pthread_join(threads[i], &results[i]) == 0);
  printf("results: %d %d %d\n", results[0] == NULL, results[1] == &made, results[2] == PTHREAD_CANCELED);
  printf("destroyed: %d, sum %d, rounds %d, once %d, mine %d\n", destroyed, sum, rounds, made, number);
  EXPECT(pthread_key_delete(key) == 0 && pthread_setspecific(key, &sum) == EINVAL);
  return 0;
}

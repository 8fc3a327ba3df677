// A writer that waits for space and a reader that waits for bytes.
#include <pthread.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kTotal = 1000000 };
static int ends[2];

static void* produce(void* unused) {
  (void)unused;
  static unsigned char bytes[kTotal];
  for (int i = 0; i < kTotal; ++i) bytes[i] = (unsigned char)(i * 7 + i / 256);
  EXPECT(write(ends[1], bytes, kTotal) == kTotal);
  close(ends[1]);
  return NULL;
}

int main(void) {
  EXPECT(pipe(ends) == 0);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, produce, NULL) == 0);
  static unsigned char bytes[5000];
  int at = 0;
  ssize_t n;
  while ((n = read(ends[0], bytes, sizeof bytes)) > 0) {
    for (int i = 0; i < n; ++i, ++at) EXPECT(bytes[i] == (unsigned char)(at * 7 + at / 256));
  }
  EXPECT(n == 0);
  printf("%d bytes\n", at);
  EXPECT(pthread_join(thread, NULL) == 0);
  return 0;
}

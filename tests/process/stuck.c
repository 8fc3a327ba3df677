// Never ends by itself: in `stuck locked` two threads wait for one mutex, `stuck computing` computes, `stuck
// waiting` waits for memory that never changes, `stuck asleep FILE` sleeps in a kernel call: it opens a file
// for writing that has a lease which is not released. `stuck thread` computes beside a sleeping main thread,
// `stuck calling` makes calls that take no virtual time, `stuck mapping` calls that only the kernel handles.
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "expect.h"

static volatile int flag;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* lock(void* unused) {
  pthread_mutex_lock(&mutex);
  return unused;
}

static void* compute(void* unused) {
  (void)unused;
  volatile unsigned long count = 0;
  while (1) count += 1;  // no state repeats, so the loop cannot be proven to wait
  return (void*)count;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  printf("started\n");
  fflush(stdout);
  if (strcmp(how, "computing") == 0) compute(NULL);
  while (strcmp(how, "waiting") == 0 && flag == 0) {
  }
  while (strcmp(how, "calling") == 0) access("/", F_OK);
  while (strcmp(how, "mapping") == 0) {
    void* const memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(memory != MAP_FAILED && munmap(memory, 4096) == 0);
  }
  if (strcmp(how, "locked") == 0) {
    pthread_t thread;
    lock(NULL);
    EXPECT(pthread_create(&thread, NULL, lock, NULL) == 0);
    lock(NULL);
  }
  if (strcmp(how, "thread") == 0) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, compute, NULL) == 0);
    pthread_join(thread, NULL);
  }
  if (strcmp(how, "asleep") == 0) {
    open(argv[2], O_WRONLY);  // another process has a lease on it
  }
  return 0;
}

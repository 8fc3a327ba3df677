// Adds to a counter without a lock, in `threads` or in `processes` with shared memory, and waits for the
// others by reading memory. Prints the counter's value; with `loop` one thread adds very often.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

struct shared {
  volatile int begun, ended, counter;
  volatile int order[4];
};
static struct shared* shared;

static void* add(void* unused) {
  __atomic_add_fetch(&shared->begun, 1, __ATOMIC_SEQ_CST);
  while (shared->begun != 2) {
  }
  for (int i = 0; i < 4; ++i) {
    shared->counter = shared->counter + 1;
    ++shared->order[i];
    usleep(1);
  }
  __atomic_add_fetch(&shared->ended, 1, __ATOMIC_SEQ_CST);
  return unused;
}

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT(shared != MAP_FAILED);
  if (strcmp(argv[1], "loop") == 0) {
    for (int i = 0; i < 2000000; ++i) shared->counter = shared->counter + 1;
  } else if (strcmp(argv[1], "threads") == 0) {
    pthread_t other;
    EXPECT(pthread_create(&other, NULL, add, NULL) == 0);
    add(NULL);
    while (shared->ended != 2) {
    }
    pthread_join(other, NULL);
  } else {
    const pid_t child = fork();
    EXPECT(child >= 0);
    add(NULL);
    if (child == 0) _exit(0);
    while (shared->ended != 2) usleep(10);
    EXPECT(waitpid(child, NULL, 0) == child);
  }
  printf("%d\n", shared->counter);
  return 0;
}

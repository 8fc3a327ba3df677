// A program that overwrites the thread ids that a simulator shares with it, as a wild pointer would. This
// harms nothing, not even the program.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/process/expect.h"

static void overwrite(void) {
  uint32_t* const words = (uint32_t*)0x2d1000001000;
  unsigned char resident;
  if (mincore(words, 4096, &resident) != 0) return;  // not simulated
  words[1] = 1;  // a process of the machine outside the run
}

static void* in_a_thread(void* lock) {
  overwrite();
  pthread_mutex_lock(lock);
  return lock;  // and it ends with the run
}

int main(void) {
  overwrite();
  // Unused numbers are those of the process itself.
  int ends[2];
  EXPECT(open("/dev/null", O_RDONLY) == 3 && pipe(ends) == 0 && dup(ends[0]) == 6);
  printf("descriptors: %d %d\n", ends[0], ends[1]);
  pthread_mutexattr_t robust;
  pthread_mutex_t lock;
  EXPECT(pthread_mutexattr_init(&robust) == 0 && pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST) == 0 &&
         pthread_mutex_init(&lock, &robust) == 0);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, in_a_thread, &lock) == 0 && pthread_join(thread, NULL) == 0);
  overwrite();
  printf("owner died: %d\n", pthread_mutex_lock(&lock) == EOWNERDEAD);
  printf("one id: %d\n", syscall(SYS_set_tid_address, &lock) == gettid());
  printf("umask, mode: %d\n", (int)umask(022));
  return 0;
}

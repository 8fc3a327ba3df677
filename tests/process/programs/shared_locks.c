// A mutex, a condition and a semaphore in memory that two processes share; one of them dies with a robust
// mutex.
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

struct Shared {
  pthread_mutex_t mutex, robust;
  pthread_cond_t condition;
  sem_t semaphore;
  int turn, rounds;
};

int main(void) {
  const int fd = memfd_create("shared", 0);
  EXPECT(ftruncate(fd, 8192) == 0);
  struct Shared* mine = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  struct Shared* other = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  EXPECT(mine != MAP_FAILED && other != MAP_FAILED && mine != other);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  EXPECT(pthread_mutex_init(&mine->mutex, &attributes) == 0);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  EXPECT(pthread_mutex_init(&mine->robust, &attributes) == 0);
  pthread_condattr_t shared;
  pthread_condattr_init(&shared);
  pthread_condattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  EXPECT(pthread_cond_init(&mine->condition, &shared) == 0 && sem_init(&mine->semaphore, 1, 0) == 0);
  const pid_t child = fork();
  EXPECT(child >= 0);
  struct Shared* seen = child == 0 ? other : mine;
  const int me = child == 0;
  if (me) EXPECT(pthread_mutex_lock(&seen->robust) == 0);
  for (int i = 0; i < 20; ++i) {
    EXPECT(pthread_mutex_lock(&seen->mutex) == 0);
    while (seen->turn != me) EXPECT(pthread_cond_wait(&seen->condition, &seen->mutex) == 0);
    seen->turn = !me;
    ++seen->rounds;
    EXPECT(pthread_cond_broadcast(&seen->condition) == 0 && pthread_mutex_unlock(&seen->mutex) == 0);
  }
  if (me) {
    EXPECT(sem_wait(&seen->semaphore) == 0);
    _exit(7);
  }
  sleep_ms(5);
  EXPECT(sem_post(&seen->semaphore) == 0);
  EXPECT(pthread_mutex_lock(&mine->robust) == EOWNERDEAD);
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
  printf("%d rounds of two processes\n", mine->rounds);
  return 0;
}

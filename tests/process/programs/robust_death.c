// A process that holds robust process-shared locks is killed by a signal: the next locker gets EOWNERDEAD.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

struct shared {
  pthread_mutex_t mutex;
  int held;
};

static void make(pthread_mutex_t* mutex) {
  pthread_mutexattr_t attributes;
  EXPECT(pthread_mutexattr_init(&attributes) == 0);
  EXPECT(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
  EXPECT(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
  EXPECT(pthread_mutex_init(mutex, &attributes) == 0);
}

static void* wait_in_thread(void* mutex) {
  EXPECT(pthread_mutex_lock(mutex) == 0);
  while (1) pause();
}

int main(void) {
  struct shared* shared =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const char* const ways[] = {"SIGKILL", "SIGTERM", "abort", "a fault", "a signal to another thread"};
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  for (int way = 0; way < 5; ++way) {
    make(&shared->mutex);
    shared->held = 0;
    int ends[2];
    char c;
    EXPECT(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
      volatile int* volatile wild = (volatile int*)8;
      pthread_t thread;
      if (way == 4) {
        pthread_create(&thread, NULL, wait_in_thread, &shared->mutex);
        usleep(20000);
      } else {
        EXPECT(pthread_mutex_lock(&shared->mutex) == 0);
      }
      EXPECT(write(ends[1], "h", 1) == 1);
      usleep(50000);
      if (way == 2) abort();
      if (way == 3) *wild = 1;
      while (1) pause();
    }
    EXPECT(read(ends[0], &c, 1) == 1);
    EXPECT(pthread_mutex_trylock(&shared->mutex) == EBUSY);
    if (way == 0) EXPECT(kill(child, SIGKILL) == 0);
    if (way == 1 || way == 4) EXPECT(kill(child, SIGTERM) == 0);
    const int result = pthread_mutex_lock(&shared->mutex);
    EXPECT(result == EOWNERDEAD && pthread_mutex_consistent(&shared->mutex) == 0);
    EXPECT(pthread_mutex_unlock(&shared->mutex) == 0);
    int status;
    EXPECT(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    printf("%s: %s, told %s\n", ways[way], sigabbrev_np(WTERMSIG(status)), strerrorname_np(result));
    fflush(stdout);
  }
  return 0;
}

// A signal that arrives before a process or thread has executed anything is not lost.
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static volatile sig_atomic_t got;
static volatile pthread_t taker;

static void on_signal(int signal) {
  got = signal;
  taker = pthread_self();
}

static void* wait_for_it(void* argument) {
  while (got != SIGUSR2) usleep(1000);
  return argument;
}

static int status_of(pid_t child) {
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child);
  return status;
}

int main(void) {
  EXPECT(signal(SIGUSR1, on_signal) != SIG_ERR && signal(SIGUSR2, on_signal) != SIG_ERR);
  const pid_t handles = fork();
  if (handles == 0) {
    while (got != SIGUSR1) usleep(1000);
    _exit(3);
  }
  EXPECT(kill(handles, SIGUSR1) == 0);
  printf("handled: exit %d\n", WEXITSTATUS(status_of(handles)));

  const pid_t dies = fork();
  if (dies == 0) {
    for (;;) pause();
  }
  EXPECT(kill(dies, SIGTERM) == 0);
  printf("died: signal %d\n", WTERMSIG(status_of(dies)));

  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, wait_for_it, NULL) == 0);
  EXPECT(pthread_kill(thread, SIGUSR2) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);
  printf("thread: %d, by itself: %d\n", got, pthread_equal(taker, thread) != 0);
  return 0;
}

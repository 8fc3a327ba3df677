// A thread that takes all signals of the process by sigwait while every thread masks them.
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static sigset_t set;

static void* take(void* argument) {
  for (int left = 4; left > 0; --left) {
    int signal;
    EXPECT(sigwait(&set, &signal) == 0);
    printf("taken: %s\n", sigabbrev_np(signal));
    fflush(stdout);
  }
  return argument;
}

int main(void) {
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  sigaddset(&set, SIGCHLD);
  EXPECT(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  EXPECT(kill(getpid(), SIGHUP) == 0);  // pending until the thread waits
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, take, NULL) == 0);
  sleep_ms(20);
  EXPECT(kill(getpid(), SIGTERM) == 0);
  sleep_ms(20);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    EXPECT(kill(parent, SIGHUP) == 0);
    usleep(20000);
    _exit(0);
  }
  EXPECT(pthread_join(thread, NULL) == 0 && waitpid(child, NULL, 0) == child);
  sigset_t pending;
  sigpending(&pending);
  printf("left: %d\n", sigismember(&pending, SIGTERM) + sigismember(&pending, SIGHUP));
  return 0;
}

// SIGCHLD reaches a handler, interrupts a sleep, and is not lost when it is ignored or masked.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t seen;
static void on_child(int signal) {
  (void)signal;
  ++seen;
}

static pid_t child_that_ends_later(int code) {
  const pid_t child = fork();
  if (child == 0) {
    usleep(50000);
    _exit(code);
  }
  return child;
}

int main(void) {
  struct sigaction action = {.sa_handler = on_child};
  sigaction(SIGCHLD, &action, NULL);
  pid_t child = child_that_ends_later(1);
  const struct timespec long_time = {5, 0};
  printf("sleep interrupted: %d\n", nanosleep(&long_time, NULL) == -1 && errno == EINTR);
  printf("seen %d, waited %d\n", seen, waitpid(child, NULL, 0) == child);

  sigset_t set, old, pending;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, &old);
  child = child_that_ends_later(2);
  printf("waited %d\n", waitpid(child, NULL, 0) == child);
  sigpending(&pending);
  printf("masked: seen %d, pending %d\n", seen, sigismember(&pending, SIGCHLD));
  sigprocmask(SIG_SETMASK, &old, NULL);
  printf("unmasked: seen %d\n", seen);

  signal(SIGCHLD, SIG_IGN);
  child_that_ends_later(3);
  printf("ignored: wait gives %d", wait(NULL));
  printf(", ECHILD %d, seen %d\n", errno == ECHILD, seen);

  // With SA_NOCLDWAIT the handler still runs. A child has the flag, too.
  action.sa_flags = SA_NOCLDWAIT;
  sigaction(SIGCHLD, &action, NULL);
  child = fork();
  if (child == 0) {
    child_that_ends_later(4);
    const pid_t waited = wait(NULL);
    _exit(waited == -1 && errno == ECHILD && seen == 3 ? 0 : 1);
  }
  action.sa_flags = 0;
  sigaction(SIGCHLD, &action, NULL);
  int status, waited;
  while ((waited = waitpid(child, &status, 0)) == -1 && errno == EINTR) continue;
  printf("no zombie of the child: %d\n", waited == child && status == 0);
  action.sa_flags = SA_NOCLDWAIT;
  sigaction(SIGCHLD, &action, NULL);
  child_that_ends_later(5);
  while ((waited = wait(NULL)) == -1 && errno == EINTR) continue;
  printf("no zombie: %d, ECHILD %d", waited, errno == ECHILD);
  printf(", seen %d\n", seen);
  return 0;
}

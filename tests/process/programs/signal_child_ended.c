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
  return 0;
}

// sigwait, sigwaitinfo and sigtimedwait: signals that are taken instead of handled.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, NULL);
  const struct timespec short_time = {0, 10000000};
  printf("nothing yet: %d, EAGAIN %d\n", sigtimedwait(&set, NULL, &short_time), errno == EAGAIN);
  raise(SIGUSR2);
  int taken = 0;
  printf("pending before: %d, USR2 %d\n", sigwait(&set, &taken), taken == SIGUSR2);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    usleep(50000);
    kill(parent, SIGUSR1);
    usleep(50000);
    kill(parent, SIGUSR2);
    kill(parent, SIGUSR1);
    _exit(0);
  }
  printf("sent later: USR1 %d\n", sigwaitinfo(&set, NULL) == SIGUSR1);
  waitpid(child, NULL, 0);
  printf("two at once, lowest first: %d", sigwaitinfo(&set, NULL) == SIGUSR1);
  printf(" %d\n", sigwaitinfo(&set, NULL) == SIGUSR2);

  // All real-time signals, pending at once, are taken lowest first.
  sigemptyset(&set);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, NULL);
  for (int signal = SIGRTMAX; signal >= SIGRTMIN; --signal) raise(signal);
  int in_order = 0;
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) in_order += sigwaitinfo(&set, NULL) == signal;
  printf("real-time signals in order: %d of %d\n", in_order, SIGRTMAX - SIGRTMIN + 1);
  return 0;
}

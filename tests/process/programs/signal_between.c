// Signals between parent and child, with and without a handler.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t got;
static void on_signal(int signal) { got = signal; }

int main(void) {
  sigset_t set, old;
  signal(SIGUSR1, on_signal);
  signal(SIGUSR2, on_signal);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, &old);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    while (got != SIGUSR1) sigsuspend(&old);
    printf("child got USR1\n");
    fflush(stdout);
    kill(parent, SIGUSR2);
    while (1) pause();
  }
  kill(child, SIGUSR1);
  while (got != SIGUSR2) sigsuspend(&old);
  printf("parent got USR2\n");
  printf("alive: %d\n", kill(child, 0));
  kill(child, SIGKILL);
  int status;
  printf("ended: %d by %d\n", waitpid(child, &status, 0) == child, WTERMSIG(status));
  printf("gone: %d, ESRCH %d\n", kill(child, 0), errno == ESRCH);
  return 0;
}

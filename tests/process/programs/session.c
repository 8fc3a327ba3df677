// Sessions and process groups: leaders, and refused changes.
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  const pid_t child = fork();
  if (child == 0) {
    printf("new session: %d\n", setsid() == getpid());
    printf("leads: %d %d\n", getsid(0) == getpid(), getpgrp() == getpid());
    printf("again: %d, EPERM %d\n", setsid(), errno == EPERM);
    printf("a leader stays: %d, EPERM %d\n", setpgid(0, getppid()), errno == EPERM);
    fflush(stdout);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      printf("inherited: %d %d\n", getsid(0) == getppid(), getpgrp() == getppid());
      fflush(stdout);
      _exit(0);
    }
    waitpid(grandchild, NULL, 0);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  printf("unknown: %d, ESRCH %d\n", getpgid(child), errno == ESRCH);
  return 0;
}

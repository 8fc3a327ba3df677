// WNOHANG, WNOWAIT, waiting for a group, and waiting for a process that is not a child.
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  const pid_t slow = fork();
  if (slow == 0) {
    usleep(200000);
    _exit(3);
  }
  int status = 0;
  printf("not yet: %d\n", waitpid(slow, &status, WNOHANG));
  printf("no child is in group 2: %d", waitpid(-2, &status, WNOHANG));
  printf(", ECHILD %d\n", errno == ECHILD);
  printf("signal 0 to everyone: %d\n", kill(-1, 0));
  siginfo_t info;
  printf("waitid %d", waitid(P_PID, slow, &info, WEXITED | WNOWAIT));
  printf(", same child %d, code %d, status %d\n", info.si_pid == slow, info.si_code == CLD_EXITED, info.si_status);
  printf("still there: %d\n", waitpid(slow, &status, 0) == slow);
  printf("gone: %d, ECHILD %d\n", waitpid(slow, &status, 0), errno == ECHILD);
  const pid_t grouped = fork();
  if (grouped == 0) {
    setpgid(0, 0);
    _exit(4);
  }
  setpgid(grouped, grouped);
  printf("own group has nobody: %d\n", waitpid(0, &status, 0));
  printf("its group: %d, exit %d\n", waitpid(-grouped, &status, 0) == grouped, WEXITSTATUS(status));
  printf("init is no child: %d\n", waitpid(1, &status, 0));
  printf("no group has that number: %d", waitpid(INT_MIN, &status, 0));
  printf(" %d", errno == ESRCH);
  printf(", %d", kill(INT_MIN, 0));
  printf(" %d\n", errno == ESRCH);
  return 0;
}

// A signal to a process group reaches all of its members and no others.
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  pid_t in_group[3], outside;
  for (int i = 0; i < 3; ++i) {
    in_group[i] = fork();
    if (in_group[i] == 0) {
      while (1) pause();
    }
    setpgid(in_group[i], in_group[0]);
  }
  outside = fork();
  if (outside == 0) {
    usleep(100000);
    _exit(9);
  }
  printf("same group: %d\n", getpgid(in_group[1]) == in_group[0] && getpgid(in_group[2]) == in_group[0]);
  printf("killpg: %d\n", killpg(in_group[0], SIGTERM));
  for (int i = 0; i < 3; ++i) {
    int status;
    waitpid(in_group[i], &status, 0);
    printf("%d: signal %d\n", i, WTERMSIG(status));
  }
  int status;
  waitpid(outside, &status, 0);
  printf("outside: exit %d\n", WEXITSTATUS(status));
  printf("no such group: %d\n", killpg(in_group[0], SIGTERM));
  return 0;
}

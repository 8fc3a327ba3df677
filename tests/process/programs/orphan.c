// A process whose parent ends gets another parent, and the simulation or the shell still waits for it.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  const pid_t middle = fork();
  if (middle == 0) {
    const pid_t parent = getpid();
    if (fork() == 0) {
      while (getppid() == parent) usleep(1000);
      printf("adopted by another: %d\n", getppid() != parent);
      fflush(stdout);
      _exit(0);
    }
    _exit(0);
  }
  waitpid(middle, NULL, 0);
  usleep(100000);
  printf("not a child: %d\n", wait(NULL));
  return 0;
}

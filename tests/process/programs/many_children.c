// A thousand children, all alive at once, each with its own exit code.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  enum { kChildren = 1000 };
  int sum = 0, ended = 0;
  for (int i = 0; i < kChildren; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      usleep(1000);
      _exit(i % 128);
    }
    if (child < 0) return 1;
  }
  int status;
  while (wait(&status) > 0) {
    ++ended;
    sum += WEXITSTATUS(status);
  }
  printf("%d ended, codes add up to %d\n", ended, sum);
  return 0;
}

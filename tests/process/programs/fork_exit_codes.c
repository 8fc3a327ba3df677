// Every kind of end is returned to the parent: exit codes and signals, in the order of its waits.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void report(int status) {
  if (WIFEXITED(status)) printf("exit %d\n", WEXITSTATUS(status));
  if (WIFSIGNALED(status)) printf("signal %d\n", WTERMSIG(status));
}

int main(void) {
  enum { kChildren = 6 };
  pid_t children[kChildren];
  for (int i = 0; i < kChildren; ++i) {
    children[i] = fork();
    if (children[i] != 0) continue;
    switch (i) {
      case 0: _exit(0);
      case 1: _exit(255);
      case 2: exit(256 + 7);
      case 3: abort();
      case 4: raise(SIGUSR1); break;
      case 5: return 42;
    }
  }
  for (int i = kChildren - 1; i >= 0; --i) {
    int status = 0;
    printf("%d: %d: ", i, waitpid(children[i], &status, 0) == children[i]);
    report(status);
  }
  printf("nobody is left: %d\n", wait(NULL));
  return 0;
}

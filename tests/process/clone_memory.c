// Calls clone twice for a process that shares this one's memory while both run.
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/process/expect.h"

static volatile int shared;
static char stack[1 << 16];

static int write_word(void* unused) {
  (void)unused;
  shared = 1;
  return 0;
}

int main(void) {
  for (int i = 0; i < 2; ++i) {
    const pid_t child = clone(write_word, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
    const char* const error = child < 0 ? strerrorname_np(errno) : "made";
    if (child > 0) waitpid(child, NULL, 0);
    printf("%s, shared %d\n", error, shared);
  }
  return 0;
}

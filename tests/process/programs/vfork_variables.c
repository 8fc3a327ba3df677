// Until it executes a program or ends, a child of vfork or of clone with CLONE_VM and CLONE_VFORK writes to its parent's
// variables; one with CLONE_VFORK alone to its own.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int initialised = 1, zero;
static int* on_heap;
static char stack[1 << 16];

static int end_of(pid_t child) {
  int status;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static int write_all(void* word) {
  const int value = *(int*)word;
  initialised = value;
  zero = getpid() != getppid() ? value : 0;
  on_heap[1000] = value;
  *(int*)word = -value;
  signal(SIGUSR1, SIG_IGN);
  close(0);
  return value;
}

static void tell(const char* how, int code, int word) {
  printf("%s: exit %d, variables %d %d %d, word %d\n", how, code, initialised, zero, on_heap[1000], word);
  // What else the child has changed is its own.
  struct sigaction action;
  EXPECT(sigaction(SIGUSR1, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
}

int main(void) {
  on_heap = calloc(2000, sizeof *on_heap);
  dup2(1, 0);
  int word = 2;
  pid_t child = vfork();
  if (child == 0) _exit(write_all(&word));
  tell("vfork", end_of(child), word);

  word = 3;
  child = vfork();
  if (child == 0) {
    write_all(&word);
    execl("/bin/true", "true", NULL);
    _exit(127);
  }
  tell("vfork and exec", end_of(child), word);

  word = 4;
  child = clone(write_all, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &word);
  EXPECT(child > 0);
  tell("CLONE_VM and CLONE_VFORK", end_of(child), word);

  word = 5;
  child = clone(write_all, stack + sizeof stack, CLONE_VFORK | SIGCHLD, &word);
  EXPECT(child > 0);
  tell("CLONE_VFORK", end_of(child), word);

  word = 6;
  child = clone(write_all, stack + sizeof stack, SIGCHLD, &word);
  EXPECT(child > 0);
  tell("own memory", end_of(child), word);
  EXPECT(fcntl(0, F_GETFD) == 0);
  return 0;
}

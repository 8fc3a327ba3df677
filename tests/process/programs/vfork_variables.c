// Until it executes a program or ends, a child of vfork or of clone with CLONE_VM and CLONE_VFORK writes to its parent's
// variables, those of the C library's heap among them; one with CLONE_VFORK alone to its own.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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

// The C library's heap is described by its variables.
static char* blocks[8];
static void allocate(int from, int to) {
  for (int i = from; i < to; ++i) {
    blocks[i] = malloc(5000 + 1000 * (unsigned)i);
    EXPECT(blocks[i] != NULL);
    memset(blocks[i], 'a' + i, 5000);
  }
}

static void tell(const char* how, int code, int word) {
  printf("%s: exit %d, variables %d %d %d, word %d\n", how, code, initialised, zero, on_heap[1000], word);
  // The child's other changes affect only the child.
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

  child = vfork();
  if (child == 0) {
    allocate(0, 4);
    free(blocks[1]);
    _exit(0);
  }
  EXPECT(end_of(child) == 0);
  allocate(4, 8);
  printf("%.2s %.2s %.2s %.2s %.2s\n", blocks[0], blocks[2], blocks[3], blocks[4], blocks[7]);
  for (int i = 0; i < 8; ++i) {
    if (i != 1) free(blocks[i]);
  }
  allocate(0, 8);
  return 0;
}

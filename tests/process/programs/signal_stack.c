// Alternate stacks: results of sigaltstack, handlers without SA_ONSTACK, nested handlers, a fault that is
// survived.
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include "tests/process/expect.h"

static char stack[65536];
static volatile sig_atomic_t inside, busy, depth, deepest;
static sigjmp_buf back;

static int on_stack(const void* address) {
  return (const char*)address >= stack && (const char*)address < stack + sizeof stack;
}

static void on_signal(int signal) {
  char here;
  stack_t now;
  inside = on_stack(&here);
  EXPECT(sigaltstack(NULL, &now) == 0);
  busy = (now.ss_flags & SS_ONSTACK) != 0;
  if (++depth > deepest) deepest = depth;
  if (signal == SIGUSR1) raise(SIGUSR2);
  --depth;
}

static void on_overflow(int signal) {
  char here;
  (void)signal;
  inside = on_stack(&here);
  siglongjmp(back, 1);
}

int main(void) {
  stack_t mine = {.ss_sp = stack, .ss_size = sizeof stack}, old;
  EXPECT(sigaltstack(NULL, &old) == 0 && old.ss_flags == SS_DISABLE);
  EXPECT(sigaltstack(&mine, &old) == 0 && sigaltstack(NULL, &old) == 0);
  EXPECT(old.ss_sp == stack && old.ss_size == sizeof stack && old.ss_flags == 0);
  struct sigaction action = {.sa_handler = on_signal};
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
  action.sa_handler = on_signal;
  EXPECT(sigaction(SIGUSR2, &action, NULL) == 0);
  raise(SIGUSR1);
  printf("without SA_ONSTACK: %d, depth %d\n", inside, deepest);
  mine.ss_size = 100;
  EXPECT(sigaltstack(&mine, NULL) == -1 && errno == ENOMEM);
  action = (struct sigaction){.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
  EXPECT(sigaction(SIGSEGV, &action, NULL) == 0);
  mine = (stack_t){.ss_flags = SS_DISABLE};
  EXPECT(sigaltstack(&mine, NULL) == 0 && sigaltstack(NULL, &old) == 0 && old.ss_flags == SS_DISABLE);
  volatile int* volatile wild = (volatile int*)16;
  if (sigsetjmp(back, 1) == 0) *wild = 1;
  printf("a fault is handled: came back\n");
  return 0;
}

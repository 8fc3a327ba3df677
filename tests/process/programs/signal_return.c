// A handler's changes to its frame take effect at its return: masks with any signal in it, and registers.
// Invalid frames end the program.
#include <signal.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/process/expect.h"

static volatile sig_atomic_t handled;
static volatile int* volatile nowhere = (volatile int*)16;

static void block_all(int signal, siginfo_t* info, void* raw) {
  (void)info;
  ucontext_t* context = raw;
  ++handled;
  for (int other = 1; other <= 31; ++other) {
    if (other != signal) sigaddset(&context->uc_sigmask, other);
  }
}

static void note(int signal) {
  (void)signal;
  ++handled;
}

static uint64_t mask_now(void) {
  uint64_t mask;
  EXPECT(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8) == 0);
  return mask;
}

static void return_to_nothing(void) {
  __asm__ volatile("mov $64, %%rsp\n mov $15, %%eax\n syscall" : : : "memory");
}

static int end_of(void (*work)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void fault_with_all_blocked(void) {
  *nowhere = 1;
}

int main(void) {
  const struct rlimit no_core = {0, 0};
  EXPECT(setrlimit(RLIMIT_CORE, &no_core) == 0);  // of children that die
  struct sigaction action = {.sa_sigaction = block_all, .sa_flags = SA_SIGINFO};
  EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
  EXPECT(raise(SIGUSR1) == 0 && handled == 1);
  printf("mask left by a handler: %016lx\n", mask_now() & 0x7fffffff);
  // With SIGSYS and SIGSEGV among them the program still lives, and has them blocked.
  sleep_ms(1);
  EXPECT(getpid() > 0);
  printf("a fault with SIGSEGV blocked: %d\n", end_of(fault_with_all_blocked));
  struct sigaction plain = {.sa_handler = note};
  EXPECT(sigaction(SIGSEGV, &plain, NULL) == 0 && sigaction(SIGSYS, &plain, NULL) == 0);
  printf("and with a handler: %d\n", end_of(fault_with_all_blocked));
  handled = 0;
  EXPECT(raise(SIGSEGV) == 0 && kill(getpid(), SIGSYS) == 0 && handled == 0);
  sigset_t pending, none;
  EXPECT(sigpending(&pending) == 0);
  printf("pending: SEGV %d, SYS %d\n", sigismember(&pending, SIGSEGV), sigismember(&pending, SIGSYS));
  sigemptyset(&none);
  EXPECT(sigprocmask(SIG_SETMASK, &none, NULL) == 0);
  printf("handled when unblocked: %d\n", handled);
  EXPECT(mask_now() == 0);

  // In the mask of the handler itself.
  handled = 0;
  action.sa_sigaction = block_all;
  sigfillset(&action.sa_mask);
  EXPECT(sigaction(SIGUSR2, &action, NULL) == 0 && raise(SIGUSR2) == 0 && handled == 1);
  EXPECT(sigprocmask(SIG_SETMASK, &none, NULL) == 0);
  handled = 0;
  EXPECT(raise(SIGSEGV) == 0 && handled == 1);
  printf("a frame that is none: %d\n", end_of(return_to_nothing));
  return 0;
}

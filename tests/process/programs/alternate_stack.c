// Handlers with SA_ONSTACK: their stack, mask and signal frame, and what they leave behind, as deep as the
// program's stack allows. A stack overflow is handled in this manner, repeatedly.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kSize = 1 << 20 };
static char stack[kSize] __attribute__((aligned(64)));
static volatile sig_atomic_t depth, count;
static sigjmp_buf back;

static int is_on_stack(const void* address) {
  return (const char*)address >= stack && (const char*)address < stack + kSize;
}

static void install(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGHUP);
  EXPECT(sigaction(signal, &action, NULL) == 0);
}

static void use_stack(int flags) {
  const stack_t mine = {.ss_sp = stack, .ss_size = kSize, .ss_flags = flags};
  EXPECT(sigaltstack(&mine, NULL) == 0);
}

// Only the parent is notified of the end of such a child.
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

static void look(int signal, siginfo_t* info, void* raw) {
  const ucontext_t* context = raw;
  stack_t now;
  sigset_t mask;
  char here;
  ++count;
  ++depth;
  EXPECT(sigaltstack(NULL, &now) == 0 && sigprocmask(SIG_BLOCK, NULL, &mask) == 0);
  printf("%ssignal %d: on the stack %d, told so %d; frame there %d %d\n", depth > 1 ? "  " : "", signal, is_on_stack(&here),
         (now.ss_flags & SS_ONSTACK) != 0, is_on_stack(info), is_on_stack(context));
  printf("%s masked: itself %d, HUP %d, USR2 %d; before: HUP %d\n", depth > 1 ? "  " : "", sigismember(&mask, signal),
         sigismember(&mask, SIGHUP), sigismember(&mask, SIGUSR2), sigismember(&context->uc_sigmask, SIGHUP));
  printf("%s saved stack: %d %d; state aligned: %d, there: %d\n", depth > 1 ? "  " : "",
         context->uc_stack.ss_sp == (void*)stack, context->uc_stack.ss_size == kSize,
         (uintptr_t)context->uc_mcontext.fpregs % 64 == 0, is_on_stack(context->uc_mcontext.fpregs));
  if (signal == SIGUSR1) {
    const stack_t other = {.ss_sp = stack, .ss_size = kSize / 2};
    EXPECT(sigaltstack(&other, NULL) == -1 && errno == EPERM);
    EXPECT(raise(SIGUSR2) == 0);
  }
  --depth;
}

static int sum(int n) {
  volatile char room[1024];
  memset((char*)room, n, sizeof room);
  return n == 0 ? 0 : room[n % 1024] / 128 + 1 + sum(n - 1);
}

static void go_deep(int signal, siginfo_t* info, void* context) {
  (void)info, (void)context;
  printf("deep in the handler of %d: %d\n", signal, sum(700));
}

static volatile double half = 0.5;

// The interrupted code's registers are unchanged, including vector registers, and the handler may change them.
static void disturb(int signal, siginfo_t* info, void* raw) {
  (void)signal, (void)info;
  ucontext_t* context = raw;
  const unsigned control = 0x1f80 | 0x6000;  // rounds towards zero
  __asm__ volatile("ldmxcsr %0" : : "m"(control));
  half = half * 3.0;
  half = half / 3.0;
  context->uc_mcontext.gregs[REG_RBX] += 1;
}

static void disarmed(int signal, siginfo_t* info, void* raw) {
  (void)signal, (void)info;
  const ucontext_t* context = raw;
  stack_t now;
  EXPECT(sigaltstack(NULL, &now) == 0);
  printf("disarmed in the handler: %d, saved: %d\n", now.ss_flags == SS_DISABLE,
         context->uc_stack.ss_sp == (void*)stack);
}

static void leave(int signal, siginfo_t* info, void* context) {
  char here;
  (void)signal, (void)context;
  EXPECT(is_on_stack(&here));
  ++count;
  siglongjmp(back, info->si_addr != NULL);
}

static volatile int never;

static int overflow(int n) {
  volatile char room[4096];
  room[0] = (char)n;
  if (never) return n;
  return overflow(n + 1) + room[0];
}

static void overflow_without_a_stack(void) {
  install(SIGSEGV, leave, 0);
  overflow(0);
}
static void overflow_with_a_small_stack(void) {
  char* const small = mmap(NULL, 16384, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const stack_t mine = {.ss_sp = small, .ss_size = 16384};
  EXPECT(sigaltstack(&mine, NULL) == 0);
  install(SIGSEGV, leave, SA_ONSTACK);
  overflow(0);
}
static void nest(int signal, siginfo_t* info, void* context) {
  (void)info, (void)context;
  raise(signal);
}
static void overflow_of_the_stack_itself(void) {
  use_stack(0);
  install(SIGUSR1, nest, SA_ONSTACK | SA_NODEFER);
  raise(SIGUSR1);
}

static void* in_a_thread(void* unused) {
  stack_t now;
  EXPECT(sigaltstack(NULL, &now) == 0);
  printf("a thread starts with one: %d\n", now.ss_flags != SS_DISABLE);
  use_stack(0);
  count = 0;
  for (volatile int i = 0; i < 20; ++i) {
    if (sigsetjmp(back, 1) == 0) overflow(0);
  }
  printf("overflows survived in a thread: %d\n", count);
  return unused;
}

static void count_on_stack(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info, (void)context;
  char here = 0;
  count += is_on_stack(&here);
}

// Linux takes any stack of 2048 bytes. Programs built with older headers have one of 8192, their SIGSTKSZ.
static void small_stacks(void) {
  stack_t small = {.ss_sp = stack, .ss_size = 2047};
  EXPECT(sigaltstack(&small, NULL) == -1 && errno == ENOMEM);
  small.ss_size = 2048;
  EXPECT(sigaltstack(&small, NULL) == 0);
  small.ss_size = 8192;
  EXPECT(sigaltstack(&small, NULL) == 0);
  install(SIGUSR1, count_on_stack, SA_ONSTACK);
  EXPECT(raise(SIGUSR1) == 0 && count == 1);
  count = 0;
}

int main(void) {
  const struct rlimit no_core = {0, 0};
  EXPECT(setrlimit(RLIMIT_CORE, &no_core) == 0);  // of killed children
  small_stacks();
  use_stack(0);
  install(SIGUSR1, look, SA_ONSTACK);
  install(SIGUSR2, look, 0);
  raise(SIGUSR1);
  raise(SIGUSR2);
  install(SIGUSR2, look, SA_ONSTACK | SA_NODEFER);
  kill(getpid(), SIGUSR2);

  install(SIGUSR1, go_deep, SA_ONSTACK);
  raise(SIGUSR1);
  install(SIGALRM, go_deep, 0);
  raise(SIGALRM);
  sigset_t none;
  sigemptyset(&none);
  sigset_t alarm_only = none;
  sigaddset(&alarm_only, SIGALRM);
  EXPECT(sigprocmask(SIG_BLOCK, &alarm_only, NULL) == 0 && raise(SIGALRM) == 0);
  EXPECT(sigsuspend(&none) == -1 && errno == EINTR);
  sigset_t now;
  EXPECT(sigprocmask(SIG_UNBLOCK, &alarm_only, &now) == 0);
  printf("masked again after sigsuspend: %d\n", sigismember(&now, SIGALRM));

  install(SIGUSR2, disturb, SA_ONSTACK);
  const double third = 1.0 / 3.0;
  register long kept __asm__("rbx") = 41;
  __asm__ volatile("syscall" : "+r"(kept) : "a"(62), "D"((long)getpid()), "S"((long)SIGUSR2) : "rcx", "r11", "memory");
  printf("changed by the handler: %ld; rounding: %d\n", kept, third * half == 1.0 / 6.0);

  use_stack((int)(1u << 31));
  install(SIGUSR1, disarmed, SA_ONSTACK);
  raise(SIGUSR1);
  stack_t after;
  EXPECT(sigaltstack(NULL, &after) == 0);
  printf("and armed again: %d\n", after.ss_sp == (void*)stack);

  use_stack(0);
  install(SIGSEGV, leave, SA_ONSTACK);
  count = 0;
  for (volatile int i = 0; i < 20; ++i) {
    if (sigsetjmp(back, 1) == 0) overflow(0);
  }
  printf("overflows survived: %d\n", count);
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, in_a_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
  printf("without a stack: %d\n", end_of(overflow_without_a_stack));
  printf("with one that cannot be written: %d\n", end_of(overflow_with_a_small_stack));
  printf("of the stack itself: %d\n", end_of(overflow_of_the_stack_itself));
  return 0;
}

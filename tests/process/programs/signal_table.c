// Every signal, sent by every method, to a process that handles, ignores or blocks it or uses the default;
// and the processor's faults. One line for each signal and setting.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum Way { kRaise, kKill, kTgkill, kSigqueue, kFault, kWays };
static const char* const kWayNames[] = {"raise", "kill", "tgkill", "sigqueue", "fault"};

static char stack[64 * 1024];
static sigjmp_buf back;
static volatile sig_atomic_t runs, depth, deepest, code, value, on_stack, again, leaves;

static int zero;
static volatile int* volatile nowhere = (volatile int*)16;

static void fault(int signal) {
  switch (signal) {
    case SIGSEGV:
      *nowhere = 1;
      break;
    case SIGFPE:
      zero = 1 / *(volatile int*)&zero;
      break;
    case SIGILL:
      __asm__ volatile("ud2");
      break;
    case SIGTRAP:
      __asm__ volatile("int3");
      break;
    case SIGBUS: {
      const int file = memfd_create("empty", 0);
      *(volatile char*)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) = 1;
    }
  }
}

static int may_fault(int signal) {
  return signal == SIGSEGV || signal == SIGFPE || signal == SIGILL || signal == SIGTRAP || signal == SIGBUS;
}

static void send(enum Way way, int signal) {
  switch (way) {
    case kRaise:
      EXPECT(raise(signal) == 0);
      break;
    case kKill:
      EXPECT(kill(getpid(), signal) == 0);
      break;
    case kTgkill:
      EXPECT(syscall(SYS_tgkill, getpid(), gettid(), signal) == 0);
      break;
    case kSigqueue:
      EXPECT(sigqueue(getpid(), signal, (union sigval){.sival_int = 77}) == 0);
      break;
    default:
      fault(signal);
  }
}

static enum Way current;

static void handler(int signal, siginfo_t* info, void* context) {
  (void)context;
  char here;
  on_stack = &here >= stack && &here < stack + sizeof stack;
  ++runs;
  code = info->si_code;
  value = info->si_code == SI_QUEUE ? info->si_value.sival_int : 0;
  if (++depth > deepest) deepest = depth;
  if (again && runs == 1 && current != kFault) send(current, signal);
  --depth;
  if (leaves) siglongjmp(back, 1);
}

static void set(int signal, void (*with)(int, siginfo_t*, void*), int flags) {
  struct sigaction action = {.sa_sigaction = with, .sa_flags = SA_SIGINFO | flags};
  EXPECT(sigaction(signal, &action, NULL) == 0);
}

static void clear(void) { runs = depth = deepest = code = value = on_stack = 0; }

// Returns from handlers of faults are by siglongjmp: the instruction would fault again.
static void handled(int signal, const char* setting, int flags, int nested, int leaving) {
  printf("%2d %-11s", signal, setting);
  for (int way = 0; way < (may_fault(signal) ? kWays : kFault); ++way) {
    clear();
    current = (enum Way)way;
    again = nested;
    leaves = leaving || (way == kFault && signal != SIGTRAP);
    set(signal, handler, flags);
    if (sigsetjmp(back, 1) == 0) send(current, signal);
    sigset_t now;
    EXPECT(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
    printf("  %s %d/%d code %d value %d stack %d masked %d", kWayNames[way], runs, deepest, code, value, on_stack,
           sigismember(&now, signal));
  }
  printf("\n");
}

static void blocked(int signal) {
  sigset_t only, pending;
  sigemptyset(&only);
  sigaddset(&only, signal);
  printf("%2d blocked    ", signal);
  for (int way = 0; way < kFault; ++way) {
    clear();
    again = leaves = 0;
    set(signal, handler, 0);
    EXPECT(sigprocmask(SIG_BLOCK, &only, NULL) == 0);
    send((enum Way)way, signal);
    send((enum Way)way, signal);
    EXPECT(sigpending(&pending) == 0);
    const int before = runs;
    EXPECT(sigprocmask(SIG_UNBLOCK, &only, NULL) == 0);
    printf("  %s %d pending %d then %d", kWayNames[way], before, sigismember(&pending, signal), runs);
    EXPECT(sigprocmask(SIG_BLOCK, &only, NULL) == 0);
    send((enum Way)way, signal);
    const struct timespec no_time = {0, 0};
    siginfo_t info = {0};
    const int waited = sigtimedwait(&only, &info, &no_time);
    printf(" waited %d code %d", waited == signal, info.si_code);
    send((enum Way)way, signal);
    sigset_t none;
    sigemptyset(&none);
    EXPECT(sigsuspend(&none) == -1 && errno == EINTR);
    printf(" suspended %d", runs);
    EXPECT(sigprocmask(SIG_UNBLOCK, &only, NULL) == 0);
  }
  printf("\n");
}

// Result of a child that sends itself the signal.
static void in_a_child(int signal, const char* setting, void (*prepare)(int)) {
  printf("%2d %-11s", signal, setting);
  for (int way = 0; way < (may_fault(signal) ? kWays : kFault); ++way) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      prepare(signal);
      send((enum Way)way, signal);
      _exit(3);
    }
    int status;
    EXPECT(waitpid(child, &status, WUNTRACED) == child);
    if (WIFSTOPPED(status)) {
      printf("  %s stops %d,", kWayNames[way], WSTOPSIG(status));
      EXPECT(kill(child, SIGCONT) == 0 && waitpid(child, &status, 0) == child);
    }
    printf("  %s %s %d", kWayNames[way], WIFSIGNALED(status) ? "killed" : "exit",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  printf("\n");
}

static void leave_alone(int with) { signal(with, SIG_DFL); }
static void ignore(int with) { signal(with, SIG_IGN); }
static void block(int with) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, with);
  sigprocmask(SIG_BLOCK, &only, NULL);
}

int main(void) {
  const struct rlimit no_core = {0, 0};
  EXPECT(setrlimit(RLIMIT_CORE, &no_core) == 0);  // of children that die
  const stack_t mine = {.ss_sp = stack, .ss_size = sizeof stack};
  EXPECT(sigaltstack(&mine, NULL) == 0);
  for (int signal_number = 1; signal_number <= 64; ++signal_number) {
    struct sigaction action = {.sa_handler = SIG_IGN};
    if (sigaction(signal_number, &action, NULL) != 0) {
      printf("%2d cannot be set\n", signal_number);
      // Two are the C library's own.
      if (signal_number == SIGKILL || signal_number == SIGSTOP) in_a_child(signal_number, "default", leave_alone);
      continue;
    }
    handled(signal_number, "handler", 0, 0, 0);
    handled(signal_number, "again", 0, may_fault(signal_number) ? 0 : 1, 0);
    handled(signal_number, "NODEFER", SA_NODEFER, 1, 0);
    handled(signal_number, "ONSTACK", SA_ONSTACK, 0, 0);
    handled(signal_number, "RESETHAND", (int)SA_RESETHAND, 0, 0);
    handled(signal_number, "siglongjmp", 0, 0, 1);
    handled(signal_number, "both", SA_ONSTACK | SA_NODEFER, 1, 1);
    blocked(signal_number);
    // Whether these stop a process depends on who watches its group.
    const int by_terminal = signal_number == SIGTSTP || signal_number == SIGTTIN || signal_number == SIGTTOU;
    if (!by_terminal) in_a_child(signal_number, "default", leave_alone);
    in_a_child(signal_number, "ignored", ignore);
    in_a_child(signal_number, "unhandled, blocked", block);
    signal(signal_number, SIG_DFL);
  }
  return 0;
}

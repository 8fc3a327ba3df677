// Masks, handlers and signals that a process sends to itself.
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include "expect.h"

static volatile sig_atomic_t seen[65];
static volatile sig_atomic_t last_code, last_sender;
static sigjmp_buf place;

static void note(int signal) { ++seen[signal]; }
static void note_info(int signal, siginfo_t* info, void* context) {
  (void)context;
  ++seen[signal];
  last_code = info->si_code;
  last_sender = info->si_pid;
}
static void leave(int signal) { siglongjmp(place, signal); }

static void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler}, now;
  sigemptyset(&action.sa_mask);
  EXPECT(sigaction(signal, &action, NULL) == 0);
  EXPECT(sigaction(signal, NULL, &now) == 0 && now.sa_handler == handler);
}

static void raise_and_kill(void) {
  static const int kSignals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1,  SIGUSR2,
                                 SIGALRM, SIGTERM, SIGCHLD, SIGWINCH, SIGSYS};
  for (unsigned i = 0; i < sizeof kSignals / sizeof *kSignals; ++i) {
    const int signal = kSignals[i];
    handle(signal, note);
    EXPECT(raise(signal) == 0 && seen[signal] == 1);
    EXPECT(kill(getpid(), signal) == 0 && seen[signal] == 2);
    handle(signal, SIG_IGN);
    EXPECT(raise(signal) == 0 && seen[signal] == 2);
    handle(signal, SIG_DFL);
  }
  EXPECT(kill(getpid(), 0) == 0);
  EXPECT(kill(getpid(), 99) == -1 && errno == EINVAL);
}

static void masks(void) {
  sigset_t set, before, pending;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGTERM);
  handle(SIGUSR1, note);
  handle(SIGTERM, note);
  seen[SIGUSR1] = seen[SIGTERM] = 0;
  EXPECT(sigprocmask(SIG_BLOCK, &set, &before) == 0);
  EXPECT(!sigismember(&before, SIGUSR1));
  EXPECT(raise(SIGUSR1) == 0 && raise(SIGTERM) == 0 && seen[SIGUSR1] == 0 && seen[SIGTERM] == 0);
  EXPECT(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1) && sigismember(&pending, SIGTERM));
  sigdelset(&set, SIGTERM);
  EXPECT(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0 && seen[SIGUSR1] == 1 && seen[SIGTERM] == 0);
  EXPECT(sigprocmask(SIG_SETMASK, &before, &set) == 0 && seen[SIGTERM] == 1);
  EXPECT(sigismember(&set, SIGTERM) && !sigismember(&set, SIGUSR1));
  EXPECT(sigprocmask(77, &set, NULL) == -1 && errno == EINVAL);

  // A program that blocks every signal must still be simulated.
  sigfillset(&set);
  EXPECT(sigprocmask(SIG_SETMASK, &set, &before) == 0);
  sleep_ms(1);
  EXPECT(getpid() > 0);
  EXPECT(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
}

static void details(void) {
  struct sigaction action = {.sa_sigaction = note_info, .sa_flags = SA_SIGINFO | SA_RESETHAND}, now;
  sigemptyset(&action.sa_mask);
  seen[SIGUSR2] = 0;
  EXPECT(sigaction(SIGUSR2, &action, NULL) == 0);
  EXPECT(kill(getpid(), SIGUSR2) == 0 && seen[SIGUSR2] == 1);
  EXPECT(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_handler == SIG_DFL);

  handle(SIGSEGV, leave);
  const int caught = sigsetjmp(place, 1);
  int* volatile nowhere = (int*)8;
  if (caught == 0) *nowhere = 1;
  EXPECT(caught == SIGSEGV);
  handle(SIGFPE, leave);
  const int divided = sigsetjmp(place, 1);
  volatile int seven = 7, zero = 0;
  if (divided == 0) printf("%d\n", seven / zero);
  EXPECT(divided == SIGFPE);

  char stack[64 * 1024];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack}, before;
  EXPECT(sigaltstack(&alternate, NULL) == 0 && sigaltstack(NULL, &before) == 0);
  EXPECT(before.ss_sp == stack && before.ss_size == sizeof stack);
  alternate.ss_flags = SS_DISABLE;
  EXPECT(sigaltstack(&alternate, NULL) == 0);
}

int main(void) {
  raise_and_kill();
  printf("raise and kill: done\n");
  masks();
  printf("masks: done\n");
  details();
  printf("details: done\n");
  return 0;
}

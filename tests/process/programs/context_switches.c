// Fibers on stacks of their own (makecontext, swapcontext): in turn, deep, with masks of their own, left from inside a signal's
// handler, and ended by their link.
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kFibers = 50, kStack = 256 << 10 };

static ucontext_t scheduler, fibers[kFibers];
static int ended, steps;

static void* new_stack(void) {
  char* const stack = mmap(NULL, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  EXPECT(stack != MAP_FAILED && mprotect(stack, 4096, PROT_NONE) == 0);
  return stack;
}

static void make(ucontext_t* fiber, void (*entry)(void), int argument) {
  EXPECT(getcontext(fiber) == 0);
  fiber->uc_stack.ss_sp = new_stack();
  fiber->uc_stack.ss_size = kStack;
  fiber->uc_link = &scheduler;
  makecontext(fiber, entry, 1, argument);
}

static int deep(int depth, int number) {
  volatile int room[128];
  room[0] = depth;
  if (depth > 0) return deep(depth - 1, number) + room[0] - depth;
  sleep_ms(1);  // a call on this stack
  ++steps;
  EXPECT(swapcontext(&fibers[number], &scheduler) == 0);
  return number;
}

static void work(int number) {
  sigset_t mask;
  sigemptyset(&mask);
  if (number % 2) sigaddset(&mask, SIGUSR1);
  EXPECT(sigprocmask(SIG_SETMASK, &mask, NULL) == 0);
  for (int i = 0; i < 4; ++i) {
    EXPECT(deep(100 + number, number) == number);
    EXPECT(sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGUSR1) == number % 2);
  }
  ++ended;
}

// Preempted by a timer whose handler switches context; the fiber later continues in its handler and returns from it.
static ucontext_t* running;
static ucontext_t* other;
static volatile int preemptions;

static void preempt(int signal) {
  (void)signal;
  ++preemptions;
  ucontext_t* const from = running;
  running = other;
  other = from;
  EXPECT(swapcontext(from, running) == 0);
}

static volatile int turns[2];

static void compute(int number) {
  while (preemptions < 20) {
    const int seen = preemptions;
    ++turns[number];
    while (preemptions == seen) now_ns();
  }
  running = NULL;
}

int main(void) {
  for (int i = 0; i < kFibers; ++i) make(&fibers[i], (void (*)(void))work, i);
  for (int round = 0; ended < kFibers; ++round) {
    EXPECT(round < 6);
    for (int i = 0; i < kFibers; ++i) {
      if (round < 5) EXPECT(swapcontext(&scheduler, &fibers[i]) == 0);
    }
  }
  sigset_t mask;
  EXPECT(sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGUSR1) == 0);
  printf("%d steps, %d ended\n", steps, ended);

  EXPECT(signal(SIGALRM, preempt) != SIG_ERR);
  make(&fibers[0], (void (*)(void))compute, 0);
  make(&fibers[1], (void (*)(void))compute, 1);
  running = &fibers[0];
  other = &fibers[1];
  const struct itimerval every = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
  EXPECT(setitimer(ITIMER_REAL, &every, NULL) == 0 && swapcontext(&scheduler, running) == 0);
  EXPECT(setitimer(ITIMER_REAL, &never, NULL) == 0);
  printf("preempted %d times, both ran: %d\n", preemptions, turns[0] > 5 && turns[1] > 5);
  return 0;
}

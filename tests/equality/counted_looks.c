// Waits for a time by polling a queue and reading the clock, and counts the turns where a function that polls keeps them: in a
// register that the function saves on its stack. Says how many there were.
#include "tests/equality/moments.h"
#include "tests/equality/rc_pair.h"

enum { kWaits = 40 };

static struct ibv_cq* cq;

// Saves its caller's registers on the stack.
static __attribute__((noinline)) int look(void) {
  struct ibv_wc wc[8];
  const int n = ibv_poll_cq(cq, 8, wc);
  __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15");
  return n;
}

static __attribute__((noinline)) void wait_for_ns(long ns) {
  const long long until = now_ns() + ns;
  uint64_t turns = 0;
  while (now_ns() < until) {
    ++turns;
    MUST(look() == 0);
  }
  printf("%llu turns until %lld\n", (unsigned long long)turns, (long long)now_ns());
}

int main(void) {
  struct ibv_context* const context = open_first_device();
  setvbuf(stdout, NULL, _IOLBF, 0);
  MUST((cq = ibv_create_cq(context, 8, NULL, NULL, 0)) != NULL);
  for (int i = 0; i < kWaits; ++i) {
    wait_for_ns(7919 * i % 40000);
    nap(3001 + 77 * i);
  }
  return 0;
}

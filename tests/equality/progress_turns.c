// A ping-pong whose waits are short and whose progress loop does something else every hundred turns, as UCX below Open MPI
// does: each wait begins with another state of the counters. `progress_turns buggy|fixed [server]` as in litmus.h.
#include "tests/equality/moments.h"
#include "tests/litmus/litmus.h"

enum { kRounds = 400, kEvery = 8 };

static struct litmus l;
static struct ibv_cq* idle;
static unsigned others, sent;
static volatile unsigned turns = 100;  // a division, as in UCX, where it is an option

static __attribute__((noinline)) void progress(void) {
  struct ibv_wc wc;
  const int n = ibv_poll_cq(l.send_cq, 1, &wc);
  MUST(n == 0 || (n == 1 && wc.status == IBV_WC_SUCCESS));
  if (n == 1) ++sent;
  MUST(ibv_poll_cq(idle, 1, &wc) == 0);
}

static __attribute__((noinline)) void other(void) {
  struct ibv_wc wc;
  if (++others % kEvery == 0) MUST(ibv_poll_cq(l.recv_cq, 1, &wc) == 0);
  progress();
}

// No register that a call keeps differs from wait to wait.
static volatile uint32_t round_number;
static volatile long long sum;

static __attribute__((noinline)) void await(volatile uint32_t* flag) {
  for (unsigned count = 0; *flag == 0;) {
    if (++count % turns != 0) {
      progress();
    } else {
      other();
    }
  }
  *flag = 0;
}

int main(int argc, char** argv) {
  litmus_start(&l, argc, argv, 1, 16, 4096);
  idle = ibv_create_cq(l.context, 4, NULL, NULL, 0);
  MUST(idle != NULL);
  litmus_meet(&l);
  volatile uint32_t* const flag = (volatile uint32_t*)l.memory;
  volatile uint32_t* const one = (volatile uint32_t*)(l.memory + 64);
  *one = 1;
  for (round_number = 1; round_number <= kRounds; ++round_number) {
    if (l.server == NULL) await(flag);
    if (round_number % 16 == 0) nap(5000 + 911 * (long)(round_number % 7));
    MUST(litmus_send(&l, 0, IBV_WR_RDMA_WRITE, (const void*)one, 4, 0, IBV_SEND_SIGNALED) == 0);
    if (l.server != NULL) await(flag);
    sum = (sum * 31 + now_ns()) % 1000000007;
  }
  while (sent < kRounds) progress();
  printf("%u other turns, times %lld\n", others, sum);
  return 0;
}

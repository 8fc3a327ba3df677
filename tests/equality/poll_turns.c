// Polls two empty completion queues in turn and checks a flag after each poll, which the other end writes at many
// times. Prints the poll and the time of each flag's first sight. `poll_turns buggy|fixed [server]` as in litmus.h.
#include "tests/equality/moments.h"
#include "tests/litmus/litmus.h"

enum { kTimes = 60 };

// Whether the flag is looked at after the first poll of a turn, too.
#ifndef LOOKS_BETWEEN
#define LOOKS_BETWEEN 1
#endif

int main(int argc, char** argv) {
  struct litmus l;
  litmus_start(&l, argc, argv, 1, 4, 4096);
  litmus_meet(&l);
  volatile uint32_t* const flag = (volatile uint32_t*)l.memory;
  struct ibv_wc wc;
  if (l.server != NULL) {
    for (uint32_t i = 1; i <= kTimes; ++i) {
      nap(20000 + 7 * (long)i);
      *flag = i;
      MUST(litmus_send(&l, 0, IBV_WR_RDMA_WRITE, l.memory, 4, 0, IBV_SEND_SIGNALED) == 0);
      litmus_wait(l.send_cq);
    }
    return 0;
  }
  struct ibv_cq* const idle = ibv_create_cq(l.context, 4, NULL, NULL, 0);
  MUST(idle != NULL);
  for (uint32_t i = 1; i <= kTimes; ++i) {
    int place = 0;
    for (;;) {
      MUST(ibv_poll_cq(l.recv_cq, 1, &wc) == 0);
      if (LOOKS_BETWEEN && *flag >= i) break;
      place = 1;
      MUST(ibv_poll_cq(idle, 1, &wc) == 0);
      if (*flag >= i) break;
      place = 0;
    }
    printf("%u: after poll %d, at %lld\n", i, place, now_ns());
  }
  return 0;
}

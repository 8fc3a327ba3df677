// Receives of a queue pair that is closed. `buggy` moves it to RESET and waits for completions of its
// receives; RESET drops them without a completion. `fixed` moves it to the error state, which flushes them.
#include "litmus.h"

enum { kPosted = 4 };

static struct litmus my;

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  for (uint64_t i = 0; i < kPosted; ++i) litmus_recv(&my, 0, i, my.memory, 64);
  litmus_meet(&my);
  struct ibv_qp_attr closed = {.qp_state = my.is_fixed ? IBV_QPS_ERR : IBV_QPS_RESET};
  MUST(ibv_modify_qp(my.qp[0], &closed, IBV_QP_STATE) == 0);
  for (int flushed = 0; flushed < kPosted;) {
    struct ibv_wc wc;
    const int n = ibv_poll_cq(my.recv_cq, 1, &wc);
    MUST(n >= 0);
    flushed += n;
  }
  printf("%d receives are back\n", kPosted);
  return 0;
}

// One completion queue for sends and receives. When the connection fails, everything outstanding is flushed,
// and the program counts the completions. `buggy` distinguishes sends from receives by the opcode of the
// failed completions, which is not valid there (ibv_poll_cq(3)). `fixed` does so by the wr_id.
#include "litmus.h"

enum { kRounds = 4, kSends = 5, kReceives = 7, kBytes = 64, kIsReceive = 1000 };

static struct litmus my;

static void give_up(void) {
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
  MUST(ibv_modify_qp(my.qp[0], &attr, IBV_QP_STATE) == 0);
  for (uint64_t i = 0; i < kReceives; ++i) litmus_recv(&my, 0, kIsReceive + i, my.memory, kBytes);
  for (int i = 0; i < kSends; ++i) {
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
  }
  int sends = 0, receives = 0;
  while (sends + receives < kSends + kReceives) {
    struct ibv_wc wc;
    const int n = ibv_poll_cq(my.recv_cq, 1, &wc);
    MUST(n >= 0);
    if (n == 0) continue;
    MUST(wc.status == IBV_WC_WR_FLUSH_ERR);
    const int is_receive = my.is_fixed ? wc.wr_id >= kIsReceive : (wc.opcode & IBV_WC_RECV) != 0;
    is_receive ? ++receives : ++sends;
  }
  if (sends != kSends || receives != kReceives) FAIL("%d sends and %d receives have come back", sends, receives);
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 0, kQueue, 4096);
  my.send_cq = my.recv_cq;
  for (int i = 0; i < kRounds; ++i) {
    litmus_qp(&my, 0, kQueue);
    litmus_meet(&my);
    give_up();
    litmus_meet(&my);
    MUST(ibv_destroy_qp(my.qp[0]) == 0);
  }
  printf("%d rounds\n", kRounds);
  return 0;
}

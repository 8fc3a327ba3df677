// A completion queue that is large enough until a queue pair is flushed. At most kBatch messages are in
// flight; kPosted receives are posted. `buggy` sizes the queue for the messages: when the queue pair enters
// the error state, all receives complete at once, and the queue overruns. `fixed` sizes it for the receives.
#include "litmus.h"

enum { kPosted = 64, kBatch = 4, kBytes = 64 };

static struct litmus my;

static void serve(void) {
  for (uint64_t i = 0; i < kPosted; ++i) litmus_recv(&my, 0, i, my.memory, kBytes);
  litmus_meet(&my);
  for (int i = 0; i < kBatch; ++i) litmus_wait(my.recv_cq);
  struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
  MUST(ibv_modify_qp(my.qp[0], &error, IBV_QP_STATE) == 0);
  usleep(1000);  // busy with something else
  int flushed = 0;
  struct ibv_wc wc;
  for (int looks = 0; looks < 1000 && flushed < kPosted - kBatch; ++looks) {
    const int n = ibv_poll_cq(my.recv_cq, 1, &wc);
    if (n < 0) break;
    flushed += n;
  }
  if (flushed != kPosted - kBatch) FAIL("%d of %d flushed receives have come", flushed, kPosted - kBatch);
}

static void send_batch(void) {
  litmus_meet(&my);
  for (int i = 0; i < kBatch; ++i) {
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 0, kQueue, 4096);
  if (!my.is_fixed) {
    MUST(ibv_destroy_cq(my.recv_cq) == 0);
    my.recv_cq = ibv_create_cq(my.context, kBatch, NULL, NULL, 0);
    MUST(my.recv_cq != NULL);
  }
  litmus_qp(&my, 0, kQueue);
  my.server == NULL ? serve() : send_batch();
  litmus_meet(&my);
  printf("%d receives were flushed\n", kPosted - kBatch);
  return 0;
}

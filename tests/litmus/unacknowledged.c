// An unacknowledged event. The server gets one completion event and then destroys its queues. `buggy` does
// not call ibv_ack_cq_events, for which ibv_destroy_cq waits for ever. `fixed` acknowledges first.
#include "litmus.h"

static struct litmus my;

static void serve(void) {
  litmus_recv(&my, 0, 0, my.memory, 64);
  MUST(ibv_req_notify_cq(my.recv_cq, 0) == 0);
  litmus_meet(&my);
  struct ibv_cq* cq;
  void* context;
  MUST(ibv_get_cq_event(my.channel, &cq, &context) == 0);
  if (my.is_fixed) ibv_ack_cq_events(cq, 1);
  litmus_wait(my.recv_cq);
}

static void send_one(void) {
  litmus_meet(&my);
  MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, 64, 0, IBV_SEND_SIGNALED) == 0);
  litmus_wait(my.send_cq);
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  my.server == NULL ? serve() : send_one();
  litmus_meet(&my);
  MUST(ibv_destroy_qp(my.qp[0]) == 0);
  MUST(ibv_destroy_cq(my.recv_cq) == 0);
  printf("all is destroyed\n");
  return 0;
}

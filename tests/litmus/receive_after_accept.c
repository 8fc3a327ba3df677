// A server that accepts connections whose first message arrives at once. `buggy` posts the receive after accepting: the
// message may arrive before. `fixed` posts it first. The client's queue pair does not retry (rnr_retry_count is 0).
#include "litmus_cm.h"

enum { kRounds = 8 };

static struct litmus_cm my;

static void serve(void) {
  my.id = cm_expect(&my, RDMA_CM_EVENT_CONNECT_REQUEST);
  cm_queue_pair(&my);
  if (my.is_fixed) cm_post(&my, 0);
  struct rdma_conn_param parameters = cm_parameters();
  MUST(rdma_accept(my.id, &parameters) == 0);
  if (!my.is_fixed) cm_post(&my, 0);
  cm_expect(&my, RDMA_CM_EVENT_ESTABLISHED);
  litmus_wait(my.id->qp->recv_cq);
  cm_expect(&my, RDMA_CM_EVENT_DISCONNECTED);
  cm_close(&my);
}

static void send_one(int round) {
  cm_resolve(&my);
  struct rdma_conn_param parameters = cm_parameters();
  MUST(rdma_connect(my.id, &parameters) == 0);
  cm_expect(&my, RDMA_CM_EVENT_ESTABLISHED);
  cm_post(&my, 1);
  struct ibv_wc wc;
  while (ibv_poll_cq(my.id->qp->send_cq, 1, &wc) == 0) {
  }
  if (wc.status != IBV_WC_SUCCESS) FAIL("the first message of connection %d: %s", round, ibv_wc_status_str(wc.status));
  MUST(rdma_disconnect(my.id) == 0);
  cm_expect(&my, RDMA_CM_EVENT_DISCONNECTED);
  cm_close(&my);
}

int main(int argc, char** argv) {
  cm_start(&my, argc, argv);
  for (int round = 0; round < kRounds; ++round) my.server == NULL ? serve() : send_one(round);
  printf("%d connections\n", kRounds);
  return 0;
}

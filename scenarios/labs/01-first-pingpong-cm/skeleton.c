#include "lab_cm.h"

enum { kMessages = 10, kLength = 64 };

static int sends, receives;  // that have completed
static char sent[kLength], received[kLength];
static struct ibv_mr *out, *in;
static struct ibv_cq* cq;

// Waits until so many of each have completed, in any order.
static void wait_for(int wanted_sends, int wanted_receives) {
  while (sends < wanted_sends || receives < wanted_receives) {
    struct ibv_wc wc;
    const int n = ibv_poll_cq(cq, 1, &wc);
    MUST(n >= 0);
    if (n == 0) continue;
    if (wc.status != IBV_WC_SUCCESS) {
      fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
      exit(1);
    }
    ++*(wc.opcode == IBV_WC_RECV ? &receives : &sends);
  }
}

static void post_receive(struct rdma_cm_id* id) {
  struct ibv_sge to = {(uintptr_t)received, kLength, in->lkey};
  struct ibv_recv_wr receive = {.sg_list = &to, .num_sge = 1}, *bad;
  MUST(ibv_post_recv(id->qp, &receive, &bad) == 0);
}

static void post_send(struct rdma_cm_id* id) {
  struct ibv_sge from = {(uintptr_t)sent, kLength, out->lkey};
  struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  MUST(ibv_post_send(id->qp, &send, &bad) == 0);
}

// Creates what a connection needs on the device that librdmacm has found, and prints where the connection leads.
static void make_queue_pair(struct rdma_cm_id* id) {
  out = ibv_reg_mr(id->pd, sent, sizeof sent, 0);
  in = ibv_reg_mr(id->pd, received, sizeof received, IBV_ACCESS_LOCAL_WRITE);
  cq = ibv_create_cq(id->verbs, 4, NULL, NULL, 0);
  MUST(out != NULL && in != NULL && cq != NULL);
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .qp_type = IBV_QPT_RC,
                                  .sq_sig_all = 1,
                                  .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
  MUST(rdma_create_qp(id, NULL, &init) == 0);
  // Your part: print where the connection leads (rdma_get_local_addr, rdma_get_peer_addr, inet_ntop):
  // printf("%s: port %d, from %s to %s\n", ibv_get_device_name(id->verbs->device), id->port_num, …, …);
}

int main(int count, char** arguments) {
  const char* const server = count > 1 ? arguments[1] : NULL;
  struct rdma_event_channel* const channel = rdma_create_event_channel();
  MUST(channel != NULL);
  struct rdma_cm_id *id, *listener = NULL;
  struct rdma_conn_param parameters = lab_cm_parameters(NULL, 0);
  if (server == NULL) {
    listener = lab_cm_listen(channel, 1);
    id = lab_cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL, 0);
    // Your part: create what the connection needs, post a receive for the first message, and call rdma_accept.
  } else {
    id = lab_cm_resolve(channel, server);
    // Your part: the same, and rdma_connect.
  }
  // Your part: wait until the connection is established.

  for (int i = 1; i <= kMessages; ++i) {
    // Your part: the client sends "ping 1" to "ping 10", the server answers with "pong 1" to "pong 10", and both print it.
  }

  // Your part: which side calls rdma_disconnect first? Wait for RDMA_CM_EVENT_DISCONNECTED, and destroy everything.
  (void)id, (void)parameters, (void)make_queue_pair, (void)wait_for, (void)post_receive, (void)post_send;
  if (listener != NULL) MUST(rdma_destroy_id(listener) == 0);
  rdma_destroy_event_channel(channel);
  return 0;
}

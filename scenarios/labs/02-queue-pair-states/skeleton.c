#include "lab.h"

enum { kMessages = 5, kLength = 32 };

struct end {
  uint32_t qp_num, psn;
  uint16_t lid;
};

// Moves the queue pair from RESET to RTS and connects it to the one of the other program.
static void connect_by_hand(struct ibv_qp* qp, int tcp, uint32_t psn) {
  struct ibv_port_attr port;
  MUST(ibv_query_port(qp->context, 1, &port) == 0);
  const struct end mine = {qp->qp_num, psn, port.lid};
  struct end theirs;
  lab_exchange(tcp, &mine, &theirs, sizeof mine);

  // Your part: RESET to INIT: port 1, P_Key index 0, no access for the peer.
  // Your part: INIT to RTR: connect to theirs.lid and theirs.qp_num, whose first packet has theirs.psn.
  // Your part: RTR to RTS: our first packet has psn; lost packets are sent again.
  (void)theirs;
}

static void wait_for(struct ibv_cq* cq) {
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) continue;
  MUST(n == 1);
  if (wc.status == IBV_WC_SUCCESS) return;
  fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
  exit(1);
}

int main(int count, char** arguments) {
  const char* const server = count > 1 ? arguments[1] : NULL;
  struct ibv_device** const devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  struct ibv_context* const context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  ibv_free_device_list(devices);
  static char buffers[kMessages][kLength];
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_mr* const mr = ibv_reg_mr(pd, buffers, sizeof buffers, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_cq* const cq = ibv_create_cq(context, 2 * kMessages, NULL, NULL, 0);
  MUST(pd != NULL && mr != NULL && cq != NULL);
  struct ibv_qp_init_attr init = {
      .send_cq = cq,
      .recv_cq = cq,
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1,
      .cap = {.max_send_wr = kMessages, .max_recv_wr = kMessages, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* const qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);

  const int tcp = lab_tcp(server);
  connect_by_hand(qp, tcp, server != NULL ? 0x123456 : 0xabcdef);

  for (int i = 0; i < kMessages && server == NULL; ++i) {
    struct ibv_sge to = {(uintptr_t)buffers[i], kLength, mr->lkey};
    struct ibv_recv_wr receive = {.sg_list = &to, .num_sge = 1}, *bad;
    MUST(ibv_post_recv(qp, &receive, &bad) == 0);
  }
  lab_meet(tcp);
  for (int i = 0; i < kMessages; ++i) {
    if (server == NULL) {
      wait_for(cq);
      printf("%s\n", buffers[i]);
      continue;
    }
    snprintf(buffers[i], kLength, "message %d", i + 1);
    struct ibv_sge from = {(uintptr_t)buffers[i], kLength, mr->lkey};
    struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
    MUST(ibv_post_send(qp, &send, &bad) == 0);
    wait_for(cq);
  }
  if (server != NULL) printf("all are acknowledged\n");

  lab_meet(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dereg_mr(mr) == 0);
  MUST(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}

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

  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .pkey_index = 0, .qp_access_flags = 0};
  MUST(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS) == 0);

  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
                            .ah_attr = {.dlid = theirs.lid, .port_num = 1},
                            .path_mtu = IBV_MTU_1024,
                            .dest_qp_num = theirs.qp_num,
                            .rq_psn = theirs.psn,
                            .max_dest_rd_atomic = 1,
                            .min_rnr_timer = 12};
  MUST(ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);

  struct ibv_qp_attr rts = {
      .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .sq_psn = psn, .max_rd_atomic = 1};
  MUST(ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                   IBV_QP_MAX_QP_RD_ATOMIC) == 0);
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

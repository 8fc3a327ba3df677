// Sends a datagram to its own port with a Q_Key that is not the receiver's: it is dropped there.
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                            \
  do {                                             \
    if (!(condition)) {                            \
      printf("failed: " #condition "\n");          \
      exit(1);                                     \
    }                                              \
  } while (0)

int main(void) {
  static char buffer[256];
  enum { kQkey = 0x1111, kWrong = 0x2222 };
  struct ibv_context* const context = ibv_open_device(ibv_get_device_list(NULL)[0]);
  MUST(context != NULL);
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_cq* const cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_mr* const mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_UD};
  struct ibv_qp* const qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL && mr != NULL);
  struct ibv_qp_attr state = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = kQkey};
  MUST(ibv_modify_qp(qp, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0);
  state.qp_state = IBV_QPS_RTR;
  MUST(ibv_modify_qp(qp, &state, IBV_QP_STATE) == 0);
  state.qp_state = IBV_QPS_RTS;
  MUST(ibv_modify_qp(qp, &state, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
  struct ibv_port_attr port;
  MUST(ibv_query_port(context, 1, &port) == 0);
  struct ibv_ah_attr to = {.dlid = port.lid, .port_num = 1};
  struct ibv_sge sge = {(uintptr_t)buffer, 64, mr->lkey};
  struct ibv_send_wr send = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
  send.wr.ud.ah = ibv_create_ah(pd, &to);
  send.wr.ud.remote_qpn = qp->qp_num;
  send.wr.ud.remote_qkey = kWrong;
  MUST(ibv_post_send(qp, &send, &bad) == 0);
  struct ibv_wc completion;
  while (ibv_poll_cq(cq, 1, &completion) == 0) {
  }
  printf("%s\n", ibv_wc_status_str(completion.status));
  return 0;
}

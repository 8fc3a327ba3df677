// A number of a queue pair outlives the queue pair. The server destroys a datagram queue pair whose number the client still
// has, and makes another for something else. `buggy` gives both one queue key: with the old number the new queue pair gets
// what was meant for the old one. `fixed` gives each its own, and the adapter drops it.
#include "litmus.h"

enum { kRounds = 12, kGrh = 40, kBytes = 64, kKey = 0x1234 };

static struct litmus my;

static struct ibv_qp* open_datagrams(uint32_t key) {
  struct ibv_qp_init_attr init = {.send_cq = my.send_cq, .recv_cq = my.recv_cq, .qp_type = IBV_QPT_UD};
  init.cap.max_send_wr = init.cap.max_recv_wr = 4;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  struct ibv_qp* const qp = ibv_create_qp(my.pd, &init);
  MUST(qp != NULL);
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = key};
  MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0);
  attr.qp_state = IBV_QPS_RTR;
  MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
  attr.qp_state = IBV_QPS_RTS;
  MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
  return qp;
}

static void serve(uint32_t round) {
  struct ibv_qp* qp = open_datagrams(kKey);
  const struct rc_address mine = {.lid = port_lid(my.context), .qpn = qp->qp_num};
  struct rc_address theirs;
  rc_exchange(my.tcp, &mine, &theirs);
  MUST(ibv_destroy_qp(qp) == 0);
  my.qp[0] = open_datagrams(kKey + (my.is_fixed ? 1 + round : 0));
  litmus_recv(&my, 0, 0, my.memory, kGrh + kBytes);
  litmus_meet(&my);
  litmus_meet(&my);  // the client has sent
  struct ibv_wc wc;
  for (int i = 0; i < 100; ++i) {
    if (ibv_poll_cq(my.recv_cq, 1, &wc) == 1) FAIL("queue pair %u gets a message that was meant for one before it", wc.qp_num);
  }
  MUST(ibv_destroy_qp(my.qp[0]) == 0);
}

static void send_datagram(void) {
  struct ibv_qp* const qp = open_datagrams(kKey);
  const struct rc_address mine = {.lid = port_lid(my.context), .qpn = qp->qp_num};
  struct rc_address theirs;
  rc_exchange(my.tcp, &mine, &theirs);
  struct ibv_ah_attr to = {.dlid = (uint16_t)theirs.lid, .port_num = 1};
  struct ibv_ah* const ah = ibv_create_ah(my.pd, &to);
  MUST(ah != NULL);
  litmus_meet(&my);
  struct ibv_sge sge = {.addr = (uintptr_t)my.memory, .length = kBytes, .lkey = my.mr->lkey};
  struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
  wr.wr.ud.ah = ah;
  wr.wr.ud.remote_qpn = theirs.qpn;
  wr.wr.ud.remote_qkey = kKey;
  MUST(ibv_post_send(qp, &wr, &bad) == 0);
  litmus_wait(my.send_cq);
  litmus_meet(&my);
  MUST(ibv_destroy_ah(ah) == 0 && ibv_destroy_qp(qp) == 0);
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 0, 4, 4096);
  for (uint32_t round = 0; round < kRounds; ++round) {
    my.server == NULL ? serve(round) : send_datagram();
    litmus_meet(&my);
  }
  printf("%d rounds\n", kRounds);
  return 0;
}

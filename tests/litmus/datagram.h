// Datagram queue pairs for litmus programs.
#pragma once

#include "litmus.h"

enum { kGrh = 40, kDatagramKey = 0x1234 };

struct datagrams {
  struct ibv_qp* qp;
  struct ibv_ah* ah;  // of the peer
  uint32_t peer;
};

// A queue pair that both ends know.
static struct datagrams open_datagrams(struct litmus* l) {
  struct ibv_qp_init_attr init = {.send_cq = l->send_cq, .recv_cq = l->recv_cq, .qp_type = IBV_QPT_UD};
  init.cap.max_send_wr = init.cap.max_recv_wr = kQueue;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  struct datagrams d = {.qp = ibv_create_qp(l->pd, &init)};
  MUST(d.qp != NULL);
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = kDatagramKey};
  MUST(ibv_modify_qp(d.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0);
  attr.qp_state = IBV_QPS_RTR;
  MUST(ibv_modify_qp(d.qp, &attr, IBV_QP_STATE) == 0);
  attr.qp_state = IBV_QPS_RTS;
  MUST(ibv_modify_qp(d.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
  const struct rc_address mine = {.lid = port_lid(l->context), .qpn = d.qp->qp_num};
  struct rc_address theirs;
  rc_exchange(l->tcp, &mine, &theirs);
  struct ibv_ah_attr to = {.dlid = (uint16_t)theirs.lid, .port_num = 1};
  d.ah = ibv_create_ah(l->pd, &to);
  MUST(d.ah != NULL);
  d.peer = theirs.qpn;
  l->qp[0] = d.qp;
  return d;
}

static void send_datagram(struct litmus* l, const struct datagrams* d, const void* bytes, uint32_t length) {
  struct ibv_sge sge = {.addr = (uintptr_t)bytes, .length = length, .lkey = l->mr->lkey};
  struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
  wr.wr.ud.ah = d->ah;
  wr.wr.ud.remote_qpn = d->peer;
  wr.wr.ud.remote_qkey = kDatagramKey;
  MUST(ibv_post_send(d->qp, &wr, &bad) == 0);
  litmus_wait(l->send_cq);
}

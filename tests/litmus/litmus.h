// Shared by the litmus programs: each is a pair of programs on two hosts, `buggy` or `fixed`, with one queue
// pair (or two) between them. Plain verbs and sockets, without code of the project. Exit code 1: the bug has
// occurred.
#pragma once

#include <infiniband/verbs.h>

#include "tests/equality/rc_pair.h"

// A function of its own, so that an explanation names who called it.
#define LITMUS_CALL static __attribute__((noinline, unused))

enum { kPort = 18600, kQueue = 64 };

struct litmus {
  int is_fixed;
  const char* server;  // NULL: this is it
  int tcp;
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_comp_channel* channel;
  struct ibv_cq* send_cq;
  struct ibv_cq* recv_cq;  // with the channel
  struct ibv_qp* qp[2];
  struct rc_address theirs[2];
  struct ibv_mr* mr;
  uint8_t* memory;
};

LITMUS_CALL void litmus_qp(struct litmus* l, int index, int send_slots) {
  struct ibv_qp_init_attr init = {.send_cq = l->send_cq, .recv_cq = l->recv_cq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = (uint32_t)send_slots;
  init.cap.max_recv_wr = kQueue;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  l->qp[index] = ibv_create_qp(l->pd, &init);
  MUST(l->qp[index] != NULL);
  const struct rc_address mine = {.lid = port_lid(l->context),
                                  .qpn = l->qp[index]->qp_num,
                                  .psn = 100,
                                  .rkey = l->mr->rkey,
                                  .address = (uintptr_t)l->memory};
  rc_exchange(l->tcp, &mine, &l->theirs[index]);
  const struct rc_options options = {.mtu = IBV_MTU_1024, .rnr_timer = 12, .reads = 4};
  rc_connect(l->qp[index], &mine, &l->theirs[index], &options);
}

// `program buggy|fixed [server]`
static inline void litmus_start(struct litmus* l, int argc, char** argv, int qps, int send_slots,
                                size_t bytes) {
  MUST(argc >= 2 && (strcmp(argv[1], "buggy") == 0 || strcmp(argv[1], "fixed") == 0));
  memset(l, 0, sizeof *l);
  l->is_fixed = strcmp(argv[1], "fixed") == 0;
  l->server = argc > 2 ? argv[2] : NULL;
  l->tcp = tcp_pair(l->server, kPort);
  l->context = open_first_device();
  l->pd = ibv_alloc_pd(l->context);
  l->channel = ibv_create_comp_channel(l->context);
  MUST(l->pd != NULL && l->channel != NULL);
  l->send_cq = ibv_create_cq(l->context, 2 * kQueue, NULL, NULL, 0);
  l->recv_cq = ibv_create_cq(l->context, 2 * kQueue, NULL, l->channel, 0);
  MUST(l->send_cq != NULL && l->recv_cq != NULL);
  l->memory = chosen_memory(bytes);
  l->mr = ibv_reg_mr(l->pd, l->memory, bytes,
                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  MUST(l->mr != NULL);
  for (int i = 0; i < qps; ++i) litmus_qp(l, i, send_slots);
}

// Both ends are here.
LITMUS_CALL void litmus_meet(struct litmus* l) {
  char byte = 0;
  tcp_write(l->tcp, &byte, 1);
  tcp_read(l->tcp, &byte, 1);
}

LITMUS_CALL void litmus_recv(struct litmus* l, int qp, uint64_t wr_id, void* place, uint32_t length) {
  struct ibv_sge sge = {.addr = (uintptr_t)place, .length = length, .lkey = l->mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = length > 0 ? 1 : 0}, *bad;
  MUST(ibv_post_recv(l->qp[qp], &wr, &bad) == 0);
}

// 0 or an errno, as ibv_post_send. `remote` is an offset in the other end's memory, for RDMA.
LITMUS_CALL int litmus_send(struct litmus* l, int qp, enum ibv_wr_opcode opcode, const void* place,
                              uint32_t length, uint64_t remote, unsigned flags) {
  struct ibv_sge sge = {.addr = (uintptr_t)place, .length = length, .lkey = l->mr->lkey};
  struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = length > 0 ? 1 : 0, .opcode = opcode}, *bad;
  wr.send_flags = flags;
  wr.wr.rdma.remote_addr = l->theirs[qp].address + remote;
  wr.wr.rdma.rkey = l->theirs[qp].rkey;
  return ibv_post_send(l->qp[qp], &wr, &bad);
}

// Polls until one completion has arrived, which must be successful. Returns its wr_id.
LITMUS_CALL uint64_t litmus_wait(struct ibv_cq* cq) {
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) {
  }
  MUST(n == 1 && wc.status == IBV_WC_SUCCESS);
  return wc.wr_id;
}

// The bug has been seen.
#define FAIL(...)        \
  do {                   \
    printf(__VA_ARGS__); \
    printf("\n");        \
    exit(1);             \
  } while (0)

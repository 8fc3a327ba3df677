// Shared by litmus programs that use librdmacm: successive connections from the client to the server.
#pragma once

#include <rdma/rdma_cma.h>

#include "tests/litmus/litmus.h"

enum { kCmPort = 18700, kCmBytes = 64 };

struct litmus_cm {
  int is_fixed;
  const char* server;  // NULL: this is it
  struct rdma_event_channel* channel;
  struct rdma_cm_id* listener;
  struct rdma_cm_id* id;  // of the connection
  struct ibv_mr* mr;
  uint8_t* memory;
};

static inline struct rdma_cm_id* cm_expect(struct litmus_cm* l, enum rdma_cm_event_type type) {
  struct rdma_cm_event* event;
  MUST(rdma_get_cm_event(l->channel, &event) == 0);
  if (event->event != type) FAIL("%s instead of %s (status %d)", rdma_event_str(event->event), rdma_event_str(type), event->status);
  struct rdma_cm_id* const id = event->id;
  MUST(rdma_ack_cm_event(event) == 0);
  return id;
}

// `program buggy|fixed [server]`
static inline void cm_start(struct litmus_cm* l, int argc, char** argv) {
  MUST(argc >= 2 && (strcmp(argv[1], "buggy") == 0 || strcmp(argv[1], "fixed") == 0));
  memset(l, 0, sizeof *l);
  l->is_fixed = strcmp(argv[1], "fixed") == 0;
  l->server = argc > 2 ? argv[2] : NULL;
  l->memory = chosen_memory(4096);
  l->channel = rdma_create_event_channel();
  MUST(l->channel != NULL);
  if (l->server != NULL) return;
  const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(kCmPort)};
  MUST(rdma_create_id(l->channel, &l->listener, NULL, RDMA_PS_TCP) == 0);
  MUST(rdma_bind_addr(l->listener, (struct sockaddr*)&any) == 0 && rdma_listen(l->listener, 4) == 0);
}

static inline void cm_queue_pair(struct litmus_cm* l) {
  struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = init.cap.max_recv_wr = 8;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  init.send_cq = ibv_create_cq(l->id->verbs, 16, NULL, NULL, 0);
  init.recv_cq = ibv_create_cq(l->id->verbs, 16, NULL, NULL, 0);
  MUST(init.send_cq != NULL && init.recv_cq != NULL);
  MUST(rdma_create_qp(l->id, NULL, &init) == 0);
  l->mr = ibv_reg_mr(l->id->pd, l->memory, 4096, IBV_ACCESS_LOCAL_WRITE);
  MUST(l->mr != NULL);
}

static inline void cm_post(struct litmus_cm* l, int is_send) {
  struct ibv_sge sge = {.addr = (uintptr_t)l->memory, .length = kCmBytes, .lkey = l->mr->lkey};
  struct ibv_send_wr send = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad_send;
  struct ibv_recv_wr receive = {.sg_list = &sge, .num_sge = 1}, *bad_receive;
  if (is_send) MUST(ibv_post_send(l->id->qp, &send, &bad_send) == 0);
  else MUST(ibv_post_recv(l->id->qp, &receive, &bad_receive) == 0);
}

// A peer without a receive is not tried again.
static inline struct rdma_conn_param cm_parameters(void) {
  return (struct rdma_conn_param){.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 0};
}

// Client: returns when there is a queue pair that can be connected.
static inline void cm_resolve(struct litmus_cm* l) {
  const struct addrinfo hints = {.ai_family = AF_INET};
  struct addrinfo* found = NULL;
  MUST(getaddrinfo(l->server, NULL, &hints, &found) == 0);
  struct sockaddr_in to = *(struct sockaddr_in*)found->ai_addr;
  to.sin_port = htons(kCmPort);
  freeaddrinfo(found);
  MUST(rdma_create_id(l->channel, &l->id, NULL, RDMA_PS_TCP) == 0);
  MUST(rdma_resolve_addr(l->id, NULL, (struct sockaddr*)&to, 1000) == 0);
  cm_expect(l, RDMA_CM_EVENT_ADDR_RESOLVED);
  MUST(rdma_resolve_route(l->id, 1000) == 0);
  cm_expect(l, RDMA_CM_EVENT_ROUTE_RESOLVED);
  cm_queue_pair(l);
}

static inline void cm_close(struct litmus_cm* l) {
  struct ibv_cq* const send_cq = l->id->send_cq != NULL ? l->id->send_cq : l->id->qp->send_cq;
  struct ibv_cq* const recv_cq = l->id->recv_cq != NULL ? l->id->recv_cq : l->id->qp->recv_cq;
  rdma_destroy_qp(l->id);
  MUST(ibv_dereg_mr(l->mr) == 0);
  MUST(ibv_destroy_cq(send_cq) == 0 && ibv_destroy_cq(recv_cq) == 0);
  MUST(rdma_destroy_id(l->id) == 0);
}

#include <poll.h>
#include <time.h>

#include "lab_cm.h"

enum { kReceives = 32, kLength = 32 };

static struct rdma_event_channel* channel;
static struct ibv_comp_channel* completions;
static struct ibv_cq* cq;
static struct ibv_mr* mr;
static char buffers[kReceives][kLength];
static unsigned events;  // of the completion channel, not yet acknowledged
static int messages;     // received
static int back;         // receives that have completed, with a message or flushed

// Polls one completion. Returns 0 if there is none.
static int take_one(void) {
  struct ibv_wc wc;
  const int n = ibv_poll_cq(cq, 1, &wc);
  MUST(n >= 0);
  if (n == 0) return 0;
  MUST(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR);
  ++back;
  if (wc.status != IBV_WC_SUCCESS) return 1;
  ++messages;
  const struct timespec work = {0, 100000};
  nanosleep(&work, NULL);
  return 1;
}

// Receives messages until the client has ended the connection and none of its messages is left.
static void receive_all(struct rdma_cm_id* id) {
  struct pollfd ready[2] = {{.fd = channel->fd, .events = POLLIN}, {.fd = completions->fd, .events = POLLIN}};
  for (;;) {
    MUST(ibv_req_notify_cq(cq, 0) == 0);
    // After arming: what came before raises no event. Sleep only when the CQ is empty.
    const int has_more = take_one();
    MUST(poll(ready, 2, has_more ? 0 : -1) >= 0);
    if (ready[1].revents != 0) {
      struct ibv_cq* of;
      void* context;
      MUST(ibv_get_cq_event(completions, &of, &context) == 0);
      ++events;
    }
    if (ready[0].revents != 0) break;
  }
  lab_cm_expect(channel, RDMA_CM_EVENT_DISCONNECTED, NULL, 0);
  MUST(rdma_disconnect(id) == 0);
  // The end of the connection is not ordered after the messages. Every receive completes: with a message, or flushed.
  while (back < kReceives) take_one();
}

static void call(struct rdma_cm_id* id, int count) {
  for (int i = 0; i < count; ++i) {
    snprintf(buffers[0], kLength, "message %d", i);
    struct ibv_sge from = {(uintptr_t)buffers[0], kLength, mr->lkey};
    struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
    MUST(ibv_post_send(id->qp, &send, &bad) == 0);
    struct ibv_wc wc;
    int n;
    while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) continue;
    MUST(n == 1 && wc.status == IBV_WC_SUCCESS);
    // With pauses at first, close together at the end.
    const struct timespec pause = {0, i < count / 2 ? 400000 : 300};
    nanosleep(&pause, NULL);
  }
  printf("all are acknowledged\n");
}

static void make_queue_pair(struct rdma_cm_id* id) {
  mr = ibv_reg_mr(id->pd, buffers, sizeof buffers, IBV_ACCESS_LOCAL_WRITE);
  completions = ibv_create_comp_channel(id->verbs);
  MUST(mr != NULL && completions != NULL);
  cq = ibv_create_cq(id->verbs, kReceives, NULL, completions, 0);
  MUST(cq != NULL);
  struct ibv_qp_init_attr init = {
      .send_cq = cq,
      .recv_cq = cq,
      .qp_type = IBV_QPT_RC,
      .cap = {.max_send_wr = 1, .max_recv_wr = kReceives, .max_send_sge = 1, .max_recv_sge = 1}};
  MUST(rdma_create_qp(id, NULL, &init) == 0);
}

// `lab` is the server; `lab SERVER MESSAGES` is the client.
int main(int count, char** arguments) {
  const char* const server = count > 1 ? arguments[1] : NULL;
  channel = rdma_create_event_channel();
  MUST(channel != NULL);
  struct rdma_cm_id *id, *listener = NULL;
  struct rdma_conn_param parameters = lab_cm_parameters(NULL, 0);
  if (server == NULL) {
    listener = lab_cm_listen(channel, 1);
    id = lab_cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, NULL, 0);
    make_queue_pair(id);
    for (int i = 0; i < kReceives; ++i) {
      struct ibv_sge to = {(uintptr_t)buffers[i], kLength, mr->lkey};
      struct ibv_recv_wr receive = {.sg_list = &to, .num_sge = 1}, *bad;
      MUST(ibv_post_recv(id->qp, &receive, &bad) == 0);
    }
    MUST(rdma_accept(id, &parameters) == 0);
    lab_cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, NULL, 0);
    receive_all(id);
    printf("%d messages\n%s\n", messages, events > 0 ? "asleep between them" : "awake all the time");
  } else {
    id = lab_cm_resolve(channel, server);
    make_queue_pair(id);
    MUST(rdma_connect(id, &parameters) == 0);
    lab_cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, NULL, 0);
    call(id, count > 2 ? atoi(arguments[2]) : 20);
    MUST(rdma_disconnect(id) == 0);
    lab_cm_expect(channel, RDMA_CM_EVENT_DISCONNECTED, NULL, 0);
  }
  ibv_ack_cq_events(cq, events);
  rdma_destroy_qp(id);
  MUST(ibv_destroy_cq(cq) == 0 && ibv_destroy_comp_channel(completions) == 0 && ibv_dereg_mr(mr) == 0);
  MUST(rdma_destroy_id(id) == 0);
  if (listener != NULL) MUST(rdma_destroy_id(listener) == 0);
  rdma_destroy_event_channel(channel);
  return 0;
}

#include <poll.h>

#include "lab_cm.h"

enum {
  kClients = 3,
  kDepth = 32,  // receives for all clients together
  kLimit = 16,  // refill the SRQ when fewer are left
  kLength = 64,
  kWindow = 4,  // messages of one client at a time
};

static struct rdma_event_channel* channel;
static struct ibv_cq* cq;
static struct ibv_mr* mr;

// ---- The server: one queue of receives for all clients, which connect when they like, send and leave.

static struct client {
  struct rdma_cm_id* id;  // NULL: not connected
  int messages;
} clients[kClients];
static int gone;

// Private data of a client's request, in network byte order: the number of the client, from 1.
struct hello {
  uint32_t number;
};

static char buffers[kDepth][kLength];
static struct ibv_pd* pd;
static struct ibv_srq* srq;
static uint64_t free_buffers[kDepth];  // not posted
static int free_count;

// Posts the free buffers, and asks for an event when few receives are left.
static void refill(void) {
  while (free_count > 0) {
    const uint64_t number = free_buffers[--free_count];
    struct ibv_sge to = {(uintptr_t)buffers[number], kLength, mr->lkey};
    struct ibv_recv_wr receive = {.wr_id = number, .sg_list = &to, .num_sge = 1}, *bad;
    MUST(ibv_post_srq_recv(srq, &receive, &bad) == 0);
  }
  struct ibv_srq_attr attr = {.srq_limit = kLimit};
  MUST(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT) == 0);
}

// Counts the messages in the completion queue.
static void take_all(void) {
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(cq, 1, &wc)) > 0) {
    free_buffers[free_count++] = wc.wr_id;
    if (wc.status != IBV_WC_SUCCESS) continue;  // flushed: no message, but the buffer is free
    for (int i = 0; i < kClients; ++i) clients[i].messages += clients[i].id != NULL && clients[i].id->qp->qp_num == wc.qp_num;
  }
  MUST(n == 0);
}

// Waits for an event of the adapter. Returns the queue pair that takes no more receives, or NULL.
static struct ibv_qp* take_event(struct ibv_context* device) {
  struct ibv_async_event event;
  MUST(ibv_get_async_event(device, &event) == 0);
  struct ibv_qp* const last = event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED ? event.element.qp : NULL;
  const int is_limit = event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED;
  ibv_ack_async_event(&event);
  if (is_limit) {
    take_all();
    refill();
  }
  return last;
}

// The client has left: destroys its queue pair without losing a message.
static void drain(struct client* client) {
  struct ibv_qp* const qp = client->id->qp;
  MUST(rdma_disconnect(client->id) == 0);  // answers, and moves the queue pair to IBV_QPS_ERR
  while (take_event(client->id->verbs) != qp) continue;
  // It takes no more receives.
  rdma_destroy_qp(client->id);
  ++gone;
  MUST(rdma_destroy_id(client->id) == 0);
  client->id = NULL;
}

// Creates what all connections share. The device is known from the first connection.
static void make_queues(struct rdma_cm_id* first) {
  struct ibv_srq_init_attr wanted = {.attr = {.max_wr = kDepth, .max_sge = 1}};
  pd = ibv_alloc_pd(first->verbs);  // first->pd is destroyed when no client is connected
  MUST(pd != NULL);
  srq = ibv_create_srq(pd, &wanted);
  cq = ibv_create_cq(first->verbs, 2 * kDepth, NULL, NULL, 0);
  mr = ibv_reg_mr(pd, buffers, sizeof buffers, IBV_ACCESS_LOCAL_WRITE);
  MUST(srq != NULL && cq != NULL && mr != NULL);
  for (; free_count < kDepth; ++free_count) free_buffers[free_count] = (uint64_t)free_count;
  refill();
}

static void take_connection_event(void) {
  struct rdma_cm_event* event;
  MUST(rdma_get_cm_event(channel, &event) == 0);
  const enum rdma_cm_event_type type = event->event;
  struct rdma_cm_id* const id = event->id;
  struct hello hello = {0};
  if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
    MUST(event->param.conn.private_data_len >= sizeof hello);
    memcpy(&hello, event->param.conn.private_data, sizeof hello);  // before the event is acknowledged
  }
  MUST(rdma_ack_cm_event(event) == 0);
  if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
    const uint32_t number = ntohl(hello.number);
    MUST(number >= 1 && number <= kClients && clients[number - 1].id == NULL);
    if (srq == NULL) make_queues(id);
    struct ibv_qp_init_attr init = {
        .send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = IBV_QPT_RC, .cap = {.max_send_wr = 1, .max_send_sge = 1}};
    MUST(rdma_create_qp(id, pd, &init) == 0);
    clients[number - 1].id = id;
    struct rdma_conn_param parameters = lab_cm_parameters(NULL, 0);
    MUST(rdma_accept(id, &parameters) == 0);
  } else if (type == RDMA_CM_EVENT_DISCONNECTED) {
    for (int i = 0; i < kClients; ++i) {
      if (clients[i].id == id) drain(&clients[i]);
    }
  } else {
    MUST(type == RDMA_CM_EVENT_ESTABLISHED || type == RDMA_CM_EVENT_TIMEWAIT_EXIT);
  }
}

static void serve(void) {
  struct rdma_cm_id* const listener = lab_cm_listen(channel, kClients);
  while (gone < kClients) {
    if (srq != NULL) {
      take_all();
      refill();
    }
    struct pollfd ready[2] = {{.fd = channel->fd, .events = POLLIN},
                              {.fd = srq == NULL ? -1 : srq->context->async_fd, .events = POLLIN}};
    if (poll(ready, 2, 20) == 0) continue;  // other work; the next look is after 20 ms
    if (ready[1].revents != 0) take_event(srq->context);
    if (ready[0].revents != 0) take_connection_event();
  }
  for (int i = 0; i < kClients; ++i) printf("client %d: %d messages\n", i + 1, clients[i].messages);
  MUST(ibv_destroy_srq(srq) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0);
  MUST(rdma_destroy_id(listener) == 0);
}

// ---- A client.

static void call(const char* server, int number, int messages, int stay_us) {
  static char ring[kWindow][kLength];
  struct rdma_cm_id* const id = lab_cm_resolve(channel, server);
  cq = ibv_create_cq(id->verbs, kWindow, NULL, NULL, 0);
  mr = ibv_reg_mr(id->pd, ring, sizeof ring, IBV_ACCESS_LOCAL_WRITE);
  MUST(cq != NULL && mr != NULL);
  struct ibv_qp_init_attr init = {
      .send_cq = cq,
      .recv_cq = cq,
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1,
      .cap = {.max_send_wr = kWindow, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
  MUST(rdma_create_qp(id, NULL, &init) == 0);
  const struct hello hello = {htonl((uint32_t)number)};
  struct rdma_conn_param parameters = lab_cm_parameters(&hello, sizeof hello);
  MUST(rdma_connect(id, &parameters) == 0);
  lab_cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, NULL, 0);
  for (int i = 0; i < messages + kWindow; ++i) {
    struct ibv_wc wc;
    int n = 1;
    while (i >= kWindow && (n = ibv_poll_cq(cq, 1, &wc)) == 0) continue;
    MUST(n == 1 && (i < kWindow || wc.status == IBV_WC_SUCCESS));
    if (i >= messages) continue;
    snprintf(ring[i % kWindow], kLength, "message %d", i);
    struct ibv_sge from = {(uintptr_t)ring[i % kWindow], kLength, mr->lkey};
    struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
    MUST(ibv_post_send(id->qp, &send, &bad) == 0);
    if (i % 8 == 0) usleep(30);
  }
  usleep((unsigned)stay_us);
  MUST(rdma_disconnect(id) == 0);
  lab_cm_expect(channel, RDMA_CM_EVENT_DISCONNECTED, NULL, 0);
  rdma_destroy_qp(id);
  MUST(ibv_destroy_cq(cq) == 0 && ibv_dereg_mr(mr) == 0 && rdma_destroy_id(id) == 0);
}

// `lab` is the server; `lab SERVER NUMBER MESSAGES STAY_US` is a client.
int main(int count, char** arguments) {
  channel = rdma_create_event_channel();
  MUST(channel != NULL && (count == 1 || count > 4));
  count > 1 ? call(arguments[1], atoi(arguments[2]), atoi(arguments[3]), atoi(arguments[4])) : serve();
  rdma_destroy_event_channel(channel);
  return 0;
}

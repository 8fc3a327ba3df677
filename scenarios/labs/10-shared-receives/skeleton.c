#include <fcntl.h>
#include <poll.h>

#include "lab.h"

enum {
  kClients = 3,
  kDepth = 32,   // receives for all clients together
  kLimit = 16,   // refill the SRQ when fewer are left
  kLength = 64,
  kWindow = 4,   // messages of one client at a time
  kLarge = 4096, // bytes of a large message of the second part
  kMixed = 40,   // messages of the second part; every fourth is large
};

static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_cq* cq;

static struct ibv_mr* register_memory(void* memory, size_t length) {
  struct ibv_mr* const mr = ibv_reg_mr(pd, memory, length, IBV_ACCESS_LOCAL_WRITE);
  MUST(mr != NULL);
  return mr;
}

static void post_to(struct ibv_srq* srq, void* buffer, uint32_t length, uint32_t lkey, uint64_t number) {
  struct ibv_sge to = {(uintptr_t)buffer, length, lkey};
  struct ibv_recv_wr receive = {.wr_id = number, .sg_list = &to, .num_sge = 1}, *bad;
  MUST(ibv_post_srq_recv(srq, &receive, &bad) == 0);
}

static void wait_for_one(struct ibv_wc* wc) {
  int n;
  while ((n = ibv_poll_cq(cq, 1, wc)) == 0) continue;
  MUST(n == 1);
  if (wc->status == IBV_WC_SUCCESS) return;
  fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc->status));
  exit(1);
}

// ---- The first part: one queue of receives for all clients, which connect, send and leave.

static struct client {
  struct ibv_qp* qp;  // NULL: the client has left
  int tcp, messages;
} clients[kClients];

static char buffers[kDepth][kLength];
static struct ibv_mr* mr;
static struct ibv_srq* srq;
static uint64_t free_buffers[kDepth];  // not posted
static int free_count;

// Posts the free buffers, and asks for an event when few receives are left.
static void refill(void) {
  while (free_count > 0) {
    const uint64_t number = free_buffers[--free_count];
    post_to(srq, buffers[number], kLength, mr->lkey, number);
  }
  // Your part: ask for IBV_EVENT_SRQ_LIMIT_REACHED, which is raised when fewer than kLimit receives are left.
}

// Counts the messages in the completion queue.
static void take_all(void) {
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(cq, 1, &wc)) > 0) {
    free_buffers[free_count++] = wc.wr_id;
    if (wc.status != IBV_WC_SUCCESS) continue;  // flushed: no message, but the buffer is free
    for (int i = 0; i < kClients; ++i) clients[i].messages += clients[i].qp != NULL && clients[i].qp->qp_num == wc.qp_num;
  }
  MUST(n == 0);
}

// Waits for an event of the adapter. Returns the queue pair that takes no more receives, or NULL.
static struct ibv_qp* take_event(void) {
  struct ibv_async_event event;
  MUST(ibv_get_async_event(context, &event) == 0);
  struct ibv_qp* const last = event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED ? event.element.qp : NULL;
  // Your part: what if few receives are left?
  ibv_ack_async_event(&event);
  return last;
}

// The client has left: destroys its queue pair without losing a message.
static void drain(struct client* client) {
  // Your part: destroy it; completions of it may wait that nobody has polled.
  client->qp = NULL;
  lab_meet(client->tcp);
  close(client->tcp);
}

static void serve(void) {
  struct ibv_srq_init_attr wanted = {.attr = {.max_wr = kDepth, .max_sge = 1}};
  srq = ibv_create_srq(pd, &wanted);
  MUST(srq != NULL);
  mr = register_memory(buffers, sizeof buffers);
  for (; free_count < kDepth; ++free_count) free_buffers[free_count] = (uint64_t)free_count;
  refill();
  for (struct client* one = clients; one < clients + kClients; ++one) {
    struct ibv_qp_init_attr init = {
        .send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = IBV_QPT_RC, .cap = {.max_send_wr = 1, .max_send_sge = 1}};
    one->qp = ibv_create_qp(pd, &init);
    MUST(one->qp != NULL);
    one->tcp = lab_tcp(NULL);
    struct lab_end theirs;
    lab_connect(one->qp, one->tcp, (struct lab_end){.psn = 1}, 0, &theirs);
  }
  for (struct client* one = clients; one < clients + kClients; ++one) lab_meet(one->tcp);  // all start
  for (int here = kClients; here > 0;) {
    take_all();
    refill();
    struct pollfd ready[1 + kClients] = {{.fd = context->async_fd, .events = POLLIN}};
    for (int i = 0; i < kClients; ++i) {
      ready[1 + i] = (struct pollfd){.fd = clients[i].qp == NULL ? -1 : clients[i].tcp, .events = POLLIN};
    }
    if (poll(ready, 1 + kClients, 20) == 0) continue;  // other work; the next look is after 20 ms
    if (ready[0].revents != 0) take_event();
    for (int i = 0; i < kClients; ++i) {
      if (ready[1 + i].revents == 0) continue;
      drain(&clients[i]);
      --here;
    }
  }
  for (int i = 0; i < kClients; ++i) printf("client %d: %d messages\n", i + 1, clients[i].messages);
  MUST(ibv_destroy_srq(srq) == 0 && ibv_dereg_mr(mr) == 0);
}

static void call(const char* server, int messages, int stay_us) {
  static char ring[kWindow][kLength];
  mr = register_memory(ring, sizeof ring);
  struct ibv_qp_init_attr init = {
      .send_cq = cq,
      .recv_cq = cq,
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1,
      .cap = {.max_send_wr = kWindow, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* const qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  const int tcp = lab_tcp(server);
  struct lab_end theirs;
  struct ibv_wc wc;
  lab_connect(qp, tcp, (struct lab_end){.psn = 1}, 0, &theirs);
  lab_meet(tcp);
  for (int i = 0; i < messages + kWindow; ++i) {
    if (i >= kWindow) wait_for_one(&wc);
    if (i >= messages) continue;
    snprintf(ring[i % kWindow], kLength, "message %d", i);
    struct ibv_sge from = {(uintptr_t)ring[i % kWindow], kLength, mr->lkey};
    struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
    MUST(ibv_post_send(qp, &send, &bad) == 0);
    if (i % 8 == 0) usleep(30);
  }
  usleep((unsigned)stay_us);
  lab_meet(tcp);  // the client leaves
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_dereg_mr(mr) == 0);
}

// ---- The second part, XRC: one connection and a queue of receives for each size. The sender chooses the queue.

static struct ibv_srq* open_xrc_srq(struct ibv_xrcd* domain) {
  struct ibv_srq_init_attr_ex wanted = {
      .attr = {.max_wr = kMixed, .max_sge = 1},
      .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
      .srq_type = IBV_SRQT_XRC,
      .pd = pd,
      .xrcd = domain,
      .cq = cq};
  struct ibv_srq* const queue = ibv_create_srq_ex(context, &wanted);
  MUST(queue != NULL);
  return queue;
}

static void serve_mixed(void) {
  static char memory[kMixed * (kLength + kLarge)];
  mr = register_memory(memory, sizeof memory);
  struct ibv_xrcd_init_attr anonymous = {
      .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
  struct ibv_xrcd* const domain = ibv_open_xrcd(context, &anonymous);
  MUST(domain != NULL);
  struct ibv_srq* const queues[2] = {open_xrc_srq(domain), open_xrc_srq(domain)};
  uint32_t numbers[2], theirs[2];
  for (int is_large = 0; is_large < 2; ++is_large) {
    MUST(ibv_get_srq_num(queues[is_large], &numbers[is_large]) == 0);
    const uint32_t length = is_large ? kLarge : kLength;
    char* next = memory + (is_large ? kMixed * kLength : 0);
    for (int i = is_large ? 3 : 0; i < kMixed; i += is_large ? 4 : 1, next += length) {
      post_to(queues[is_large], next, length, mr->lkey, (uint64_t)is_large);
    }
  }
  struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = domain};
  struct ibv_qp* const qp = ibv_create_qp_ex(context, &init);
  MUST(qp != NULL);
  const int tcp = lab_tcp(NULL);
  struct lab_end end;
  lab_connect(qp, tcp, (struct lab_end){.psn = 1}, 0, &end);
  lab_exchange(tcp, numbers, theirs, sizeof numbers);
  int count[2] = {0, 0}, misplaced = 0;
  for (int i = 0; i < kMixed; ++i) {
    struct ibv_wc wc;
    wait_for_one(&wc);
    ++count[wc.wr_id];
    misplaced += wc.byte_len != (wc.wr_id ? kLarge : kLength);
  }
  printf("%d small, %d large, %d misplaced\n", count[0], count[1], misplaced);
  lab_meet(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_srq(queues[0]) == 0 && ibv_destroy_srq(queues[1]) == 0);
  MUST(ibv_close_xrcd(domain) == 0 && ibv_dereg_mr(mr) == 0);
}

static void call_mixed(const char* server) {
  static char text[kLarge];
  mr = register_memory(text, sizeof text);
  struct ibv_qp_init_attr_ex init = {.send_cq = cq,
                                     .qp_type = IBV_QPT_XRC_SEND,
                                     .sq_sig_all = 1,
                                     .cap = {.max_send_wr = 1, .max_send_sge = 1},
                                     .comp_mask = IBV_QP_INIT_ATTR_PD,
                                     .pd = pd};
  struct ibv_qp* const qp = ibv_create_qp_ex(context, &init);
  MUST(qp != NULL);
  const int tcp = lab_tcp(server);
  struct lab_end end;
  uint32_t queues[2], none[2] = {0, 0};  // numbers of the server's queues: for small messages, for large ones
  lab_connect(qp, tcp, (struct lab_end){.psn = 1}, 0, &end);
  lab_exchange(tcp, none, queues, sizeof queues);
  for (int i = 0; i < kMixed; ++i) {
    const int is_large = i % 4 == 3;
    struct ibv_sge from = {(uintptr_t)text, is_large ? kLarge : kLength, mr->lkey};
    struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
    send.qp_type.xrc.remote_srqn = queues[0];  // Your part: the queue for this size
    MUST(ibv_post_send(qp, &send, &bad) == 0);
    struct ibv_wc wc;
    wait_for_one(&wc);
  }
  lab_meet(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_dereg_mr(mr) == 0);
}

// First part: `lab` and `lab SERVER MESSAGES STAY_US`. Second part: `lab mixed` and `lab SERVER mixed`.
int main(int count, char** arguments) {
  struct ibv_device** const devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  ibv_free_device_list(devices);
  pd = ibv_alloc_pd(context);
  cq = ibv_create_cq(context, 2 * kMixed, NULL, NULL, 0);
  MUST(pd != NULL && cq != NULL);
  const int is_mixed = count > 1 && strcmp(arguments[count - 1], "mixed") == 0;
  if (count > 2) {
    MUST(is_mixed || count > 3);
    is_mixed ? call_mixed(arguments[1]) : call(arguments[1], atoi(arguments[2]), atoi(arguments[3]));
  } else {
    is_mixed ? serve_mixed() : serve();
  }
  MUST(ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}

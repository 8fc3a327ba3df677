#include <time.h>

#include "lab_cm.h"

enum { kMessages = 64, kLength = 64, kDepthMost = 8 };

// Private data of both sides, in network byte order: how many receives they have posted.
struct offer {
  uint32_t receives;
};

static char buffers[kDepthMost][kLength];
static struct ibv_mr* mr;
static struct ibv_cq* cq;
static struct rdma_cm_id* id;
static int sends, receives;  // that have completed
static int credits;          // messages for which the other side has a receive posted

// The work of the server on one message.
static void work_on(const char* message, int number) {
  char wanted[kLength];
  snprintf(wanted, sizeof wanted, "message %d", number);
  MUST(strcmp(message, wanted) == 0);
  const struct timespec time = {0, 20000};
  nanosleep(&time, NULL);
}

static void post_receive(int slot) {
  struct ibv_sge to = {(uintptr_t)buffers[slot], kLength, mr->lkey};
  struct ibv_recv_wr receive = {.sg_list = &to, .num_sge = 1}, *bad;
  MUST(ibv_post_recv(id->qp, &receive, &bad) == 0);
}

// Waits for one completion of any kind.
static void wait_for_one(void) {
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) continue;
  MUST(n == 1);
  if (wc.status != IBV_WC_SUCCESS) {
    fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
    exit(1);
  }
  if (wc.opcode != IBV_WC_RECV) {
    ++sends;
    return;
  }
  ++receives;
  if (wc.wc_flags & IBV_WC_WITH_IMM) credits += (int)ntohl(wc.imm_data);
}

// Creates a queue pair and posts so many receives, before the other side knows the queue pair.
static void make_queue_pair(int depth) {
  mr = ibv_reg_mr(id->pd, buffers, sizeof buffers, IBV_ACCESS_LOCAL_WRITE);
  cq = ibv_create_cq(id->verbs, 4 * kDepthMost, NULL, NULL, 0);
  MUST(mr != NULL && cq != NULL);
  struct ibv_qp_init_attr init = {
      .send_cq = cq,
      .recv_cq = cq,
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1,
      .cap = {.max_send_wr = kDepthMost, .max_recv_wr = kDepthMost, .max_send_sge = 1, .max_recv_sge = 1}};
  MUST(rdma_create_qp(id, NULL, &init) == 0);
  for (int slot = 0; slot < depth; ++slot) post_receive(slot);
}

static void serve(int depth) {
  const int batch = depth > 1 ? depth / 2 : 1;
  int grants = 0, back = 0;  // credit messages sent; receives posted again that no credit message has reported
  for (int i = 0; i < kMessages; ++i) {
    while (receives <= i) wait_for_one();
    work_on(buffers[i % depth], i);
    post_receive(i % depth);
    if (++back < batch) continue;
    // The previous one has completed, so there is a free slot.
    while (sends < grants) wait_for_one();
    struct ibv_send_wr credit = {.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htonl((uint32_t)back)}, *bad;
    MUST(ibv_post_send(id->qp, &credit, &bad) == 0);
    ++grants;
    back = 0;
  }
  while (sends < grants) wait_for_one();
  printf("all %d messages are here\n", kMessages);
}

static void call(void) {
  static char out[kMessages][kLength];
  struct ibv_mr* const from = ibv_reg_mr(id->pd, out, sizeof out, 0);
  MUST(from != NULL);
  int posted_again = 0;
  for (int i = 0; i < kMessages; ++i) {
    while (credits == 0 || i - sends == kDepthMost) wait_for_one();
    for (; posted_again < receives; ++posted_again) post_receive(posted_again % kDepthMost);
    --credits;
    snprintf(out[i], kLength, "message %d", i);
    struct ibv_sge piece = {(uintptr_t)out[i], kLength, from->lkey};
    struct ibv_send_wr send = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
    MUST(ibv_post_send(id->qp, &send, &bad) == 0);
  }
  while (sends < kMessages) wait_for_one();
  printf("all are acknowledged\n");
  MUST(ibv_dereg_mr(from) == 0);
}

// `lab DEPTH` is the server with so many receives; `lab SERVER` is the client.
int main(int count, char** arguments) {
  MUST(count > 1);
  const int depth = atoi(arguments[1]);
  const char* const server = depth == 0 ? arguments[1] : NULL;
  MUST(depth <= kDepthMost);
  struct rdma_event_channel* const channel = rdma_create_event_channel();
  MUST(channel != NULL);
  struct rdma_cm_id* listener = NULL;
  struct offer theirs, mine = {htonl(server == NULL ? (uint32_t)depth : kDepthMost)};
  struct rdma_conn_param parameters = lab_cm_parameters(&mine, sizeof mine);
  if (server == NULL) {
    listener = lab_cm_listen(channel, 1);
    id = lab_cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, &theirs, sizeof theirs);
    make_queue_pair(depth);
    MUST(rdma_accept(id, &parameters) == 0);
    lab_cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, NULL, 0);
    serve(depth);
    MUST(rdma_disconnect(id) == 0);  // its message was the last one, and it is acknowledged
    lab_cm_expect(channel, RDMA_CM_EVENT_DISCONNECTED, NULL, 0);
  } else {
    id = lab_cm_resolve(channel, server);
    make_queue_pair(kDepthMost);
    MUST(rdma_connect(id, &parameters) == 0);
    lab_cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED, &theirs, sizeof theirs);
    credits = (int)ntohl(theirs.receives);
    call();
    lab_cm_expect(channel, RDMA_CM_EVENT_DISCONNECTED, NULL, 0);
    MUST(rdma_disconnect(id) == 0);
  }
  rdma_destroy_qp(id);
  MUST(ibv_destroy_cq(cq) == 0 && ibv_dereg_mr(mr) == 0 && rdma_destroy_id(id) == 0);
  if (listener != NULL) MUST(rdma_destroy_id(listener) == 0);
  rdma_destroy_event_channel(channel);
  return 0;
}

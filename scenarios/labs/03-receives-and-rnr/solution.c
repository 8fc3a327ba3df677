#include <time.h>

#include "lab.h"

enum { kMessages = 64, kLength = 64, kDepth = 8, kBatch = 4 };

static char buffers[kDepth][kLength];
static struct ibv_mr* mr;
static struct ibv_qp* qp;
static int sends, receives;  // that have completed
static int credits = kDepth;

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
  MUST(ibv_post_recv(qp, &receive, &bad) == 0);
}

// Waits for one completion of any kind.
static void wait_for_one(void) {
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(qp->send_cq, 1, &wc)) == 0) continue;
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

static void serve(void) {
  int grants = 0;
  for (int i = 0; i < kMessages; ++i) {
    while (receives <= i) wait_for_one();
    work_on(buffers[i % kDepth], i);
    post_receive(i % kDepth);
    if ((i + 1) % kBatch != 0) continue;
    // The previous one has completed, so there is a free slot.
    while (sends < grants) wait_for_one();
    struct ibv_send_wr credit = {.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htonl(kBatch)}, *bad;
    MUST(ibv_post_send(qp, &credit, &bad) == 0);
    ++grants;
  }
  while (sends < grants) wait_for_one();
  printf("all %d messages are here\n", kMessages);
}

static void call(void) {
  static char out[kMessages][kLength];
  struct ibv_mr* const from = ibv_reg_mr(qp->pd, out, sizeof out, 0);
  MUST(from != NULL);
  int granted = 0;  // messages of the server for which a receive was posted again
  for (int i = 0; i < kMessages; ++i) {
    while (credits == 0 || i - sends == kDepth) wait_for_one();
    for (; granted < receives; ++granted) post_receive(granted % kDepth);
    --credits;
    snprintf(out[i], kLength, "message %d", i);
    struct ibv_sge piece = {(uintptr_t)out[i], kLength, from->lkey};
    struct ibv_send_wr send = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
    MUST(ibv_post_send(qp, &send, &bad) == 0);
  }
  while (sends < kMessages) wait_for_one();
  printf("all are acknowledged\n");
  MUST(ibv_dereg_mr(from) == 0);
}

int main(int count, char** arguments) {
  const char* const server = count > 1 ? arguments[1] : NULL;
  struct ibv_device** const devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  struct ibv_context* const context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  ibv_free_device_list(devices);
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  mr = ibv_reg_mr(pd, buffers, sizeof buffers, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_cq* const cq = ibv_create_cq(context, 4 * kDepth, NULL, NULL, 0);
  MUST(pd != NULL && mr != NULL && cq != NULL);
  struct ibv_qp_init_attr init = {
      .send_cq = cq,
      .recv_cq = cq,
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1,
      .cap = {.max_send_wr = kDepth, .max_recv_wr = kDepth, .max_send_sge = 1, .max_recv_sge = 1}};
  qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  const int tcp = lab_tcp(server);
  struct lab_end theirs;
  lab_connect(qp, tcp, (struct lab_end){.psn = 7}, 0, &theirs);
  for (int slot = 0; slot < kDepth; ++slot) post_receive(slot);
  lab_meet(tcp);
  server == NULL ? serve() : call();
  lab_meet(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dereg_mr(mr) == 0);
  MUST(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}

#include <time.h>

#include "lab.h"

enum { kMessages = 20, kLength = 32 };

static struct ibv_comp_channel* channel;
static struct ibv_cq* cq;
static unsigned events;  // not yet acknowledged

// Polls until the CQ is empty. Returns the number of completions.
static int take(void) {
  struct ibv_wc wc;
  int taken = 0, n;
  while ((n = ibv_poll_cq(cq, 1, &wc)) > 0) {
    MUST(wc.status == IBV_WC_SUCCESS);
    ++taken;
  }
  MUST(n == 0);
  return taken;
}

// The work of the server on messages; others arrive at the same time.
static void work_on(int messages) {
  const struct timespec time = {0, 1500L * messages};
  if (messages > 0) nanosleep(&time, NULL);
}

// Waits until so many receives have completed.
static void receive_all(int wanted) {
  for (int received = 0; received < wanted;) {
    const int taken = take();
    received += taken;
    work_on(taken);
    if (received >= wanted) break;
    MUST(ibv_req_notify_cq(cq, 0) == 0);
    struct ibv_cq* of;
    void* context;
    MUST(ibv_get_cq_event(channel, &of, &context) == 0);
    ++events;
  }
}

static void send_one(struct ibv_qp* qp, struct ibv_mr* mr, char* text, int number) {
  snprintf(text, kLength, "message %d", number);
  struct ibv_sge from = {(uintptr_t)text, kLength, mr->lkey};
  struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  MUST(ibv_post_send(qp, &send, &bad) == 0);
  while (take() == 0) continue;
  // Some messages are sent close together, others after a pause.
  const struct timespec pause = {0, number % 3 == 0 ? 9000 : 300};
  nanosleep(&pause, NULL);
}

int main(int count, char** arguments) {
  const char* const server = count > 1 ? arguments[1] : NULL;
  struct ibv_device** const devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  struct ibv_context* const context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  ibv_free_device_list(devices);
  static char buffers[kMessages][kLength];
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_mr* const mr = ibv_reg_mr(pd, buffers, sizeof buffers, IBV_ACCESS_LOCAL_WRITE);
  channel = ibv_create_comp_channel(context);
  cq = ibv_create_cq(context, kMessages, NULL, channel, 0);
  MUST(pd != NULL && mr != NULL && channel != NULL && cq != NULL);
  struct ibv_qp_init_attr init = {
      .send_cq = cq,
      .recv_cq = cq,
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1,
      .cap = {.max_send_wr = 1, .max_recv_wr = kMessages, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* const qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  const int tcp = lab_tcp(server);
  struct lab_end theirs;
  lab_connect(qp, tcp, (struct lab_end){.psn = 1}, 0, &theirs);
  for (int i = 0; i < kMessages && server == NULL; ++i) {
    struct ibv_sge to = {(uintptr_t)buffers[i], kLength, mr->lkey};
    struct ibv_recv_wr receive = {.sg_list = &to, .num_sge = 1}, *bad;
    MUST(ibv_post_recv(qp, &receive, &bad) == 0);
  }
  lab_meet(tcp);
  if (server == NULL) {
    receive_all(kMessages);
    printf("%d messages\n%s\n", kMessages, events > 0 ? "asleep between them" : "awake all the time");
  } else {
    for (int i = 0; i < kMessages; ++i) send_one(qp, mr, buffers[i], i);
    printf("all are acknowledged\n");
  }
  lab_meet(tcp);
  close(tcp);
  ibv_ack_cq_events(cq, events);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0 && ibv_destroy_comp_channel(channel) == 0);
  MUST(ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}

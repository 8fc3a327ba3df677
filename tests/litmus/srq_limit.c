// A shared receive queue that is refilled on its limit event. The limit is armed for one event. `buggy` arms
// it once: when receives run out for the second time the queue is not refilled, and the client waits for
// ever. `fixed` arms it again each time.
#include "litmus.h"

enum { kDepth = 8, kLimit = 4, kMessages = 4 * kDepth, kBytes = 64 };

static struct litmus my;
static struct ibv_srq* srq;

static void fill_up(int count) {
  for (int i = 0; i < count; ++i) {
    struct ibv_sge sge = {.addr = (uintptr_t)my.memory, .length = kBytes, .lkey = my.mr->lkey};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
    MUST(ibv_post_srq_recv(srq, &wr, &bad) == 0);
  }
}

static void arm_limit(void) {
  struct ibv_srq_attr attr = {.srq_limit = kLimit};
  MUST(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT) == 0);
}

static void open_qp(void) {
  struct ibv_qp_init_attr init = {.send_cq = my.send_cq, .recv_cq = my.recv_cq, .srq = srq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = init.cap.max_send_sge = 1;
  my.qp[0] = ibv_create_qp(my.pd, &init);
  MUST(my.qp[0] != NULL);
  const struct rc_address mine = {.lid = port_lid(my.context), .qpn = my.qp[0]->qp_num, .psn = 100};
  rc_exchange(my.tcp, &mine, &my.theirs[0]);
  const struct rc_options options = {.mtu = IBV_MTU_1024, .rnr_timer = 12, .reads = 4};
  rc_connect(my.qp[0], &mine, &my.theirs[0], &options);
}

static void serve(void) {
  struct ibv_srq_init_attr init = {.attr = {.max_wr = kDepth, .max_sge = 1}};
  srq = ibv_create_srq(my.pd, &init);
  MUST(srq != NULL);
  open_qp();
  fill_up(kDepth);
  arm_limit();
  litmus_meet(&my);
  for (int taken = 0; taken < kMessages;) {
    struct ibv_async_event event;
    MUST(ibv_get_async_event(my.context, &event) == 0);
    const int is_limit = event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED;
    ibv_ack_async_event(&event);
    if (!is_limit) continue;
    // As many as there were messages.
    struct ibv_wc wc;
    int new = 0;
    while (ibv_poll_cq(my.recv_cq, 1, &wc) == 1) ++new;
    fill_up(new);
    taken += new;
    if (taken + kDepth - kLimit >= kMessages) break;
    if (my.is_fixed) arm_limit();
  }
}

static void send_messages(void) {
  litmus_meet(&my);
  for (int i = 0; i < kMessages; ++i) {
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, argc > 2 ? 1 : 0, kQueue, 4096);
  my.server == NULL ? serve() : send_messages();
  litmus_meet(&my);
  printf("%d messages\n", kMessages);
  return 0;
}

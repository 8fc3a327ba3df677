// Lost wake-up. The server sleeps in ibv_get_cq_event between messages. `buggy` polls until its CQ is empty,
// then arms it and sleeps: a message that arrives between the last poll and the arm raises no event. `fixed`
// polls once more after arming.
#include "litmus.h"

enum { kBurst = 3, kMessages = 80 * kBurst, kBytes = 64 };

static struct litmus my;

static int poll_and_answer(void) {
  int answered = 0;
  struct ibv_wc wc;
  while (ibv_poll_cq(my.recv_cq, 1, &wc) == 1) {
    MUST(wc.status == IBV_WC_SUCCESS);
    litmus_recv(&my, 0, wc.wr_id, my.memory + wc.wr_id * kBytes, kBytes);
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    while (ibv_poll_cq(my.send_cq, 1, &wc) == 1) MUST(wc.status == IBV_WC_SUCCESS);
    ++answered;
  }
  return answered;
}

static void serve(void) {
  MUST(ibv_req_notify_cq(my.recv_cq, 0) == 0);
  litmus_meet(&my);
  for (int answered = 0; answered < kMessages;) {
    struct ibv_cq* cq;
    void* context;
    MUST(ibv_get_cq_event(my.channel, &cq, &context) == 0);
    ibv_ack_cq_events(cq, 1);
    answered += poll_and_answer();
    MUST(ibv_req_notify_cq(my.recv_cq, 0) == 0);
    if (my.is_fixed) answered += poll_and_answer();
  }
}

static void ask(void) {
  litmus_meet(&my);
  for (int burst = 0; burst < kMessages / kBurst; ++burst) {
    for (int i = 0; i < kBurst; ++i) {
      MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    }
    for (int i = 0; i < kBurst; ++i) litmus_wait(my.send_cq);
    for (int i = 0; i < kBurst; ++i) {
      const uint64_t slot = litmus_wait(my.recv_cq);
      litmus_recv(&my, 0, slot, my.memory + slot * kBytes, kBytes);
    }
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  for (uint64_t i = 0; i < 8; ++i) litmus_recv(&my, 0, i, my.memory + i * kBytes, kBytes);
  my.server == NULL ? serve() : ask();
  litmus_meet(&my);  // the end that exits first destroys its queue pair
  printf("%d messages\n", kMessages);
  return 0;
}

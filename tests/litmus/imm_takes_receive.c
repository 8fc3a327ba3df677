// Messages, and RDMA WRITEs with immediate data between them, each of which consumes a receive and leaves its buffer
// unchanged. `buggy` treats every completion of a receive as a message. `fixed` checks the opcode and posts the receive again.
#include "litmus.h"

enum { kMessages = 12, kBytes = 64, kTarget = 2048 };

static struct litmus my;

static void post(uint64_t slot) {
  memset(my.memory + slot * kBytes, 0, kBytes);
  litmus_recv(&my, 0, slot, my.memory + slot * kBytes, kBytes);
}

static void serve(void) {
  for (uint64_t i = 0; i < 8; ++i) post(i);
  litmus_meet(&my);
  for (int message = 1; message <= kMessages;) {
    struct ibv_wc wc;
    if (ibv_poll_cq(my.recv_cq, 1, &wc) == 0) continue;
    MUST(wc.status == IBV_WC_SUCCESS);
    const int is_message = !my.is_fixed || wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM;
    if (is_message && my.memory[wc.wr_id * kBytes] != message)
      FAIL("message %d is %d", message, my.memory[wc.wr_id * kBytes]);
    message += is_message;
    post(wc.wr_id);
  }
}

static void send_messages(void) {
  litmus_meet(&my);
  for (int message = 1; message <= kMessages; ++message) {
    memset(my.memory, message, kBytes);
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
    if (message % 3 != 0) continue;
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE_WITH_IMM, my.memory, 8, kTarget, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  my.server == NULL ? serve() : send_messages();
  litmus_meet(&my);
  printf("%d messages\n", kMessages);
  return 0;
}

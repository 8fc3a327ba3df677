// A credit protocol. The server gives a credit back, by an RDMA WRITE to a counter that the client polls, when it has taken a
// message; the client has a slot of its send queue for each credit. `buggy` takes a credit for a free slot: it may be here before
// the message's own completion. `fixed` waits for both.
#include "litmus.h"

enum { kCredits = 2, kMessages = 100, kBytes = 64, kCounter = 2048 };

static struct litmus my;

static void serve(void) {
  uint64_t* const given = (uint64_t*)(my.memory + kCounter + 64);
  for (uint64_t i = 0; i < kCredits; ++i) litmus_recv(&my, 0, i, my.memory + i * kBytes, kBytes);
  litmus_meet(&my);
  for (int i = 1; i <= kMessages; ++i) {
    const uint64_t slot = litmus_wait(my.recv_cq);
    litmus_recv(&my, 0, slot, my.memory + slot * kBytes, kBytes);
    *given = (uint64_t)i;
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE, given, 8, kCounter, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
  }
}

static void send_messages(void) {
  const volatile uint64_t* const given = (const volatile uint64_t*)(my.memory + kCounter);
  litmus_meet(&my);
  int completed = 0;
  for (int sent = 0; sent < kMessages; ++sent) {
    while ((uint64_t)sent >= *given + kCredits) {
    }
    struct ibv_wc wc;
    while (ibv_poll_cq(my.send_cq, 1, &wc) == 1) {
      MUST(wc.status == IBV_WC_SUCCESS);
      ++completed;
    }
    for (; my.is_fixed && sent >= completed + kCredits; ++completed) litmus_wait(my.send_cq);
    const int error = litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED);
    if (error != 0) FAIL("there is a credit for message %d, but no slot: %s", sent, strerror(error));
  }
  while (*given != kMessages) {
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kCredits, 4096);
  my.server == NULL ? serve() : send_messages();
  litmus_meet(&my);
  printf("%d messages\n", kMessages);
  return 0;
}

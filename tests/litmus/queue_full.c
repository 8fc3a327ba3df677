// Sends without completions. `buggy` signals none of them: no completion ever frees a slot of the send queue,
// and it becomes full. `fixed` signals every fourth and waits for it.
#include "litmus.h"

enum { kSlots = 8, kMessages = 3 * kSlots, kBytes = 64 };

static struct litmus my;

static void serve(void) {
  for (uint64_t i = 0; i < kMessages; ++i) litmus_recv(&my, 0, i, my.memory, kBytes);
  litmus_meet(&my);
  for (int i = 0; i < kMessages; ++i) litmus_wait(my.recv_cq);
}

static void send_messages(void) {
  litmus_meet(&my);
  for (int i = 0; i < kMessages; ++i) {
    const unsigned flags = my.is_fixed && i % 4 == 3 ? IBV_SEND_SIGNALED : 0;
    const int error = litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, flags);
    if (error != 0) FAIL("message %d does not fit into the send queue: %s", i, strerror(error));
    if (flags != 0) litmus_wait(my.send_cq);
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kSlots, 4096);
  my.server == NULL ? serve() : send_messages();
  litmus_meet(&my);
  printf("%d messages\n", kMessages);
  return 0;
}

// A buffer overwritten before its completion. The client streams messages from one buffer. `buggy` assumes
// that a message has been sent some time after posting it; when a packet is lost, it is retransmitted from
// the buffer, which contains the next message. `fixed` waits for the completion.
#include <time.h>

#include "litmus.h"

enum { kMessages = 30, kBytes = 1500, kArea = 2048 };

static struct litmus my;

static void serve(void) {
  litmus_meet(&my);
  for (int i = 0; i < kMessages; ++i) {
    const uint8_t* message = my.memory + litmus_wait(my.recv_cq) * kArea;
    for (int k = 0; k < kBytes; ++k) {
      if (message[k] != (uint8_t)(i + k))
        FAIL("message %d has the bytes of message %d", i, (uint8_t)(message[k] - k));
    }
  }
}

static void stream(void) {
  const struct timespec while_it_leaves = {.tv_nsec = 12000};
  litmus_meet(&my);
  for (int i = 0; i < kMessages; ++i) {
    for (int k = 0; k < kBytes; ++k) my.memory[k] = (uint8_t)(i + k);
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    if (my.is_fixed) {
      litmus_wait(my.send_cq);
    } else {
      nanosleep(&while_it_leaves, NULL);
    }
  }
  for (int i = 0; i < kMessages && !my.is_fixed; ++i) litmus_wait(my.send_cq);
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, kQueue * kArea);
  for (uint64_t i = 0; i < kMessages; ++i) litmus_recv(&my, 0, i, my.memory + i * kArea, kBytes);
  my.server == NULL ? serve() : stream();
  litmus_meet(&my);  // the end that exits first destroys its queue pair
  printf("%d messages\n", kMessages);
  return 0;
}

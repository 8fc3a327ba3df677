// A READ whose response is lost is executed again, and reads the memory at that time. `buggy` posts a message
// after the READ, without a fence, which says that the READ is done; the server then changes the bytes.
// `fixed` sends the message after the READ's completion.
#include "litmus.h"

enum { kRounds = 10, kBytes = 64, kCopy = 1024 };

static struct litmus my;

static void serve(void) {
  for (int i = 1; i <= kRounds; ++i) {
    memset(my.memory, i, kBytes);
    litmus_recv(&my, 0, 0, my.memory + kCopy, 8);
    litmus_meet(&my);
    litmus_wait(my.recv_cq);
    memset(my.memory, 0xff, kBytes);
    litmus_meet(&my);
  }
}

static void read_rounds(void) {
  for (int i = 1; i <= kRounds; ++i) {
    litmus_meet(&my);
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_READ, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    if (my.is_fixed) litmus_wait(my.send_cq);
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory + kCopy, 8, 0, IBV_SEND_SIGNALED) == 0);
    if (!my.is_fixed) litmus_wait(my.send_cq);
    litmus_wait(my.send_cq);
    if (my.memory[0] != (uint8_t)i) FAIL("READ %d brings %d, of after it was done", i, my.memory[0]);
    litmus_meet(&my);
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  my.server == NULL ? serve() : read_rounds();
  litmus_meet(&my);
  printf("%d rounds\n", kRounds);
  return 0;
}

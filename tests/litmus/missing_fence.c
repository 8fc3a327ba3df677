// A READ and a SEND of what it reads, posted together. `buggy` has no fence: the SEND may take its bytes
// before the READ has brought them. `fixed` has IBV_SEND_FENCE.
#include "litmus.h"

enum { kRounds = 20, kBytes = 64, kSource = 1024, kEcho = 2048 };

static struct litmus my;

static void serve(void) {
  for (int i = 1; i <= kRounds; ++i) {
    memset(my.memory + kSource, i, kBytes);
    litmus_meet(&my);
    litmus_wait(my.recv_cq);
    if (my.memory[kEcho] != (uint8_t)i) FAIL("the client sent back %d for %d", my.memory[kEcho], i);
    litmus_recv(&my, 0, 0, my.memory + kEcho, kBytes);
  }
}

static void echo(void) {
  for (int i = 1; i <= kRounds; ++i) {
    litmus_meet(&my);
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_READ, my.memory, kBytes, kSource, IBV_SEND_SIGNALED) == 0);
    const unsigned fence = my.is_fixed ? IBV_SEND_FENCE : 0;
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED | fence) == 0);
    litmus_wait(my.send_cq);
    litmus_wait(my.send_cq);
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  litmus_recv(&my, 0, 0, my.memory + kEcho, kBytes);
  my.server == NULL ? serve() : echo();
  litmus_meet(&my);  // the end that exits first destroys its queue pair
  printf("%d rounds\n", kRounds);
  return 0;
}

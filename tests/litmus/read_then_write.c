// A READ and a WRITE of the same memory, posted together. `buggy` has no fence: the WRITE may be executed
// before the READ has got the bytes. `fixed` has IBV_SEND_FENCE.
#include "litmus.h"

enum { kRounds = 40, kBytes = 4096, kOld = 4096, kNew = 8192 };

static struct litmus my;

static void serve(void) {
  for (int i = 1; i <= kRounds; ++i) {
    memset(my.memory, 2 * i, kBytes);
    litmus_meet(&my);
    litmus_meet(&my);
  }
}

static void exchange(void) {
  for (int i = 1; i <= kRounds; ++i) {
    litmus_meet(&my);
    memset(my.memory + kNew, 2 * i + 1, kBytes);
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_READ, my.memory + kOld, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    const unsigned fence = my.is_fixed ? IBV_SEND_FENCE : 0;
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE, my.memory + kNew, kBytes, 0, IBV_SEND_SIGNALED | fence) == 0);
    litmus_wait(my.send_cq);
    litmus_wait(my.send_cq);
    for (int k = 0; k < kBytes; ++k) {
      if (my.memory[kOld + k] != (uint8_t)(2 * i))
        FAIL("byte %d of the READ of round %d is %d: it is the WRITE's behind it", k, i, my.memory[kOld + k]);
    }
    litmus_meet(&my);
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 16384);
  my.server == NULL ? serve() : exchange();
  litmus_meet(&my);
  printf("%d rounds\n", kRounds);
  return 0;
}

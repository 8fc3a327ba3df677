// Data on one queue pair, the word that it is there on another. `buggy` takes the message on the second for a
// sign that the WRITE on the first, posted before it, has been done. `fixed` waits for the WRITE's completion
// before it posts.
#include "litmus.h"

enum { kRounds = 40, kBytes = 256, kNote = 2048 };

static struct litmus my;

static void serve(void) {
  litmus_meet(&my);
  for (int i = 1; i <= kRounds; ++i) {
    litmus_wait(my.recv_cq);
    for (int k = 0; k < kBytes; ++k) {
      if (my.memory[k] != (uint8_t)i)
        FAIL("data %d are there, but byte %d is of data %d", i, k, my.memory[k]);
    }
    litmus_recv(&my, 1, 0, my.memory + kNote, 8);
    litmus_meet(&my);
  }
}

static void write_data(void) {
  litmus_meet(&my);
  for (int i = 1; i <= kRounds; ++i) {
    memset(my.memory, i, kBytes);
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    if (my.is_fixed) litmus_wait(my.send_cq);
    MUST(litmus_send(&my, 1, IBV_WR_SEND, my.memory + kNote, 8, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
    if (!my.is_fixed) litmus_wait(my.send_cq);
    litmus_meet(&my);
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 2, kQueue, 4096);
  litmus_recv(&my, 1, 0, my.memory + kNote, 8);
  my.server == NULL ? serve() : write_data();
  litmus_meet(&my);  // the end that exits first destroys its queue pair
  printf("%d rounds\n", kRounds);
  return 0;
}

// Data by an RDMA WRITE on one queue pair, a flag by an RDMA WRITE on another, and a reader that polls memory. `buggy` takes the
// flag for a sign that the data are there. `fixed` raises the flag on the queue pair of the data, with immediate data, and waits
// for the completion that this makes.
#include "litmus.h"

enum { kRounds = 40, kBytes = 256, kFlag = 2048 };

static struct litmus my;

static void serve(void) {
  const volatile uint64_t* const flag = (const volatile uint64_t*)(my.memory + kFlag);
  for (int i = 0; i < kRounds; ++i) litmus_recv(&my, 0, 0, NULL, 0);
  litmus_meet(&my);
  for (int i = 1; i <= kRounds; ++i) {
    if (my.is_fixed) {
      litmus_wait(my.recv_cq);
    } else {
      while (*flag != (uint64_t)i) {
      }
    }
    for (int k = 0; k < kBytes; ++k) {
      if (my.memory[k] != (uint8_t)i) FAIL("flag %d is up, but byte %d is of data %d", i, k, my.memory[k]);
    }
    litmus_meet(&my);
  }
}

static void write_data(void) {
  uint64_t* const flag = (uint64_t*)(my.memory + kFlag);
  litmus_meet(&my);
  for (int i = 1; i <= kRounds; ++i) {
    memset(my.memory, i, kBytes);
    *flag = (uint64_t)i;
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    if (my.is_fixed) {
      MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE_WITH_IMM, flag, 8, kFlag, IBV_SEND_SIGNALED) == 0);
    } else {
      MUST(litmus_send(&my, 1, IBV_WR_RDMA_WRITE, flag, 8, kFlag, IBV_SEND_SIGNALED) == 0);
    }
    litmus_wait(my.send_cq);
    litmus_wait(my.send_cq);
    litmus_meet(&my);
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 2, kQueue, 4096);
  my.server == NULL ? serve() : write_data();
  litmus_meet(&my);  // the end that exits first destroys its queue pairs
  printf("%d rounds\n", kRounds);
  return 0;
}

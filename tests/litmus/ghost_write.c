// A WRITE that arrives too late. The client abandons a WRITE that takes too long, opens another connection
// and writes newer data. `buggy` leaves the first connection open at the server: a delayed packet is still
// executed, over the newer bytes. `fixed` makes the server close it first.
#include "litmus.h"

enum { kBytes = 64 };

static struct litmus my;

static void close_qp(int index) {
  MUST(ibv_destroy_qp(my.qp[index]) == 0);
}

static void serve(void) {
  litmus_meet(&my);
  litmus_meet(&my);  // the client has given up
  if (my.is_fixed) close_qp(0);
  litmus_meet(&my);
  litmus_meet(&my);  // and written again
  usleep(1000);
  if (my.memory[0] != 2) FAIL("the second WRITE is complete, and there are the bytes of the first: %d", my.memory[0]);
}

static void write_twice(void) {
  litmus_meet(&my);
  memset(my.memory, 1, kBytes);
  MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
  struct ibv_wc wc;
  int n = 0;
  for (int i = 0; i < 200 && n == 0; ++i) n = ibv_poll_cq(my.send_cq, 1, &wc);
  if (n == 0) close_qp(0);
  litmus_meet(&my);
  litmus_meet(&my);
  memset(my.memory, 2, kBytes);
  MUST(litmus_send(&my, 1, IBV_WR_RDMA_WRITE, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
  litmus_wait(my.send_cq);
  litmus_meet(&my);
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 2, kQueue, 4096);
  my.server == NULL ? serve() : write_twice();
  litmus_meet(&my);
  printf("the second WRITE stays\n");
  return 0;
}

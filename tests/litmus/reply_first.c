// The reply before the send's completion. The client's send queue has one slot. `buggy` takes the reply for a
// sign that the request is complete, looks for its completion once, and posts the next: the queue may still
// be full. `fixed` waits for the completion.
#include "litmus.h"

enum { kRounds = 60, kBytes = 64 };

static struct litmus my;

static void serve(void) {
  litmus_meet(&my);
  for (int i = 0; i < kRounds; ++i) {
    litmus_recv(&my, 0, litmus_wait(my.recv_cq), my.memory, kBytes);
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
  }
}

static void ask(void) {
  struct ibv_wc wc;
  litmus_meet(&my);
  for (int i = 0; i < kRounds; ++i) {
    const int error = litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED);
    if (error != 0) FAIL("request %d cannot be posted: %s", i, strerror(error));
    litmus_recv(&my, 0, litmus_wait(my.recv_cq), my.memory, kBytes);
    if (my.is_fixed) {
      litmus_wait(my.send_cq);
    } else {
      ibv_poll_cq(my.send_cq, 1, &wc);
    }
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, 1, 4096);
  for (uint64_t i = 0; i < 4; ++i) litmus_recv(&my, 0, i, my.memory, kBytes);
  my.server == NULL ? serve() : ask();
  litmus_meet(&my);  // the end that exits first destroys its queue pair
  printf("%d requests\n", kRounds);
  return 0;
}

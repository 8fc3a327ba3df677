// A connection that is closed while a thread posts on it. The closing thread moves the queue pair to the
// error state and waits until all posted requests are complete, then frees the requests. `buggy` counts the
// posted requests before it closes: a request that the other thread posts meanwhile completes later. `fixed`
// stops and joins that thread before it counts.
#include <pthread.h>

#include "litmus.h"

enum { kMessages = 40, kBytes = 64 };

static struct litmus my;
static volatile int posted, is_closing;

static void* post_messages(void* unused) {
  while (posted < kMessages && !is_closing) {
    if (litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) != 0) break;
    ++posted;
    usleep(3);
  }
  return unused;
}

static void send_and_close(void) {
  litmus_meet(&my);
  pthread_t poster;
  MUST(pthread_create(&poster, NULL, post_messages, NULL) == 0);
  for (int i = 0; i < kMessages / 4; ++i) litmus_wait(my.send_cq);
  if (my.is_fixed) {
    is_closing = 1;
    MUST(pthread_join(poster, NULL) == 0);
  }
  const int outstanding = posted - kMessages / 4;
  struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
  MUST(ibv_modify_qp(my.qp[0], &error, IBV_QP_STATE) == 0);
  is_closing = 1;
  struct ibv_wc wc;
  for (int left = outstanding; left > 0;) {
    const int n = ibv_poll_cq(my.send_cq, 1, &wc);
    MUST(n >= 0);
    left -= n;
  }
  if (!my.is_fixed) MUST(pthread_join(poster, NULL) == 0);
  usleep(100);
  if (ibv_poll_cq(my.send_cq, 1, &wc) == 1) FAIL("a request completes that the closed connection does not know");
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  for (uint64_t i = 0; my.server == NULL && i < kMessages; ++i) litmus_recv(&my, 0, i, my.memory, kBytes);
  my.server == NULL ? litmus_meet(&my) : send_and_close();
  litmus_meet(&my);
  printf("closed\n");
  return 0;
}

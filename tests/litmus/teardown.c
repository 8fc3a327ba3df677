// Two threads and one connection. A worker receives messages; after the last one it sets a flag and
// writes a line. `buggy` tears the connection down as soon as the flag is set. `fixed` joins the worker
// first.
#include <pthread.h>

#include "litmus.h"

enum { kMessages = 10, kBytes = 64 };

static struct litmus my;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static volatile int is_finished, is_torn_down;

static void* work(void* unused) {
  for (int i = 0; i < kMessages; ++i) litmus_wait(my.recv_cq);
  pthread_mutex_lock(&lock);
  is_finished = 1;
  pthread_cond_signal(&finished);
  pthread_mutex_unlock(&lock);
  printf("the last message is here\n");
  fflush(stdout);
  if (is_torn_down) FAIL("the worker looks at a queue that has been destroyed");
  struct ibv_wc wc;
  MUST(ibv_poll_cq(my.recv_cq, 1, &wc) == 0);
  return unused;
}

static void serve(void) {
  pthread_t worker;
  MUST(pthread_create(&worker, NULL, work, NULL) == 0);
  litmus_meet(&my);
  pthread_mutex_lock(&lock);
  while (!is_finished) pthread_cond_wait(&finished, &lock);
  pthread_mutex_unlock(&lock);
  if (my.is_fixed) pthread_join(worker, NULL);
  MUST(ibv_destroy_qp(my.qp[0]) == 0);
  is_torn_down = 1;
  if (!my.is_fixed) pthread_join(worker, NULL);
  MUST(ibv_destroy_cq(my.recv_cq) == 0);
}

static void send_messages(void) {
  litmus_meet(&my);
  for (int i = 0; i < kMessages; ++i) {
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  for (uint64_t i = 0; i < kMessages; ++i) litmus_recv(&my, 0, i, my.memory, kBytes);
  my.server == NULL ? serve() : send_messages();
  litmus_meet(&my);  // the end that exits first destroys its queue pair
  printf("%d messages\n", kMessages);
  return 0;
}

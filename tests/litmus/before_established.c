// A server with two threads: one handles connection events, one polls. The client sends as soon as it is
// connected. `buggy` expects RDMA_CM_EVENT_ESTABLISHED before the first message; the message may overtake it.
// `fixed` accepts the message at any time.
#include <pthread.h>

#include "litmus_cm.h"

static struct litmus_cm my;
static volatile int is_established;

static void* poll_messages(void* unused) {
  litmus_wait(my.id->qp->recv_cq);
  if (!my.is_fixed && !is_established) FAIL("a message on a connection that is not established");
  return unused;
}

static void serve(void) {
  my.id = cm_expect(&my, RDMA_CM_EVENT_CONNECT_REQUEST);
  cm_queue_pair(&my);
  cm_post(&my, 0);
  pthread_t poller;
  MUST(pthread_create(&poller, NULL, poll_messages, NULL) == 0);
  struct rdma_conn_param parameters = cm_parameters();
  MUST(rdma_accept(my.id, &parameters) == 0);
  cm_expect(&my, RDMA_CM_EVENT_ESTABLISHED);
  is_established = 1;
  MUST(pthread_join(poller, NULL) == 0);
  cm_expect(&my, RDMA_CM_EVENT_DISCONNECTED);
  cm_close(&my);
}

static void send_one(void) {
  cm_resolve(&my);
  struct rdma_conn_param parameters = cm_parameters();
  MUST(rdma_connect(my.id, &parameters) == 0);
  cm_expect(&my, RDMA_CM_EVENT_ESTABLISHED);
  cm_post(&my, 1);
  litmus_wait(my.id->qp->send_cq);
  MUST(rdma_disconnect(my.id) == 0);
  cm_expect(&my, RDMA_CM_EVENT_DISCONNECTED);
  cm_close(&my);
}

int main(int argc, char** argv) {
  cm_start(&my, argc, argv);
  my.server == NULL ? serve() : send_one();
  printf("one message\n");
  return 0;
}

// The last receive of a queue pair with a shared queue. A thread waits for IBV_EVENT_QP_LAST_WQE_REACHED and forgets the
// connection. `buggy` takes the event for the sign that all messages have been dealt with; their completions may still be in
// the queue, and the polling thread finds one of a connection that is forgotten. `fixed` polls until the queue is empty after
// the event.
#include <pthread.h>

#include "litmus.h"

enum { kMessages = 8, kBytes = 64 };

static struct litmus my;
static struct ibv_srq* srq;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_known = 1;

// Called with the lock. Returns whether there was a completion.
static int take_completion(void) {
  struct ibv_wc wc;
  if (ibv_poll_cq(my.recv_cq, 1, &wc) != 1) return 0;
  if (!is_known) FAIL("a completion of queue pair %u, whose connection is forgotten", wc.qp_num);
  return 1;
}

static void* await_last(void* unused) {
  struct ibv_async_event event;
  do {
    MUST(ibv_get_async_event(my.context, &event) == 0);
    ibv_ack_async_event(&event);
  } while (event.event_type != IBV_EVENT_QP_LAST_WQE_REACHED);
  pthread_mutex_lock(&lock);
  while (my.is_fixed && take_completion()) {
  }
  is_known = 0;
  pthread_mutex_unlock(&lock);
  return unused;
}

static void open_qp(void) {
  struct ibv_srq_init_attr wanted = {.attr = {.max_wr = kMessages, .max_sge = 1}};
  srq = ibv_create_srq(my.pd, &wanted);
  MUST(srq != NULL);
  for (int i = 0; i < kMessages; ++i) {
    struct ibv_sge sge = {.addr = (uintptr_t)my.memory, .length = kBytes, .lkey = my.mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1}, *bad;
    MUST(ibv_post_srq_recv(srq, &wr, &bad) == 0);
  }
  struct ibv_qp_init_attr init = {.send_cq = my.send_cq, .recv_cq = my.recv_cq, .srq = srq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = init.cap.max_send_sge = 1;
  my.qp[0] = ibv_create_qp(my.pd, &init);
  MUST(my.qp[0] != NULL);
  const struct rc_address mine = {.lid = port_lid(my.context), .qpn = my.qp[0]->qp_num, .psn = 100};
  rc_exchange(my.tcp, &mine, &my.theirs[0]);
  const struct rc_options options = {.mtu = IBV_MTU_1024, .rnr_timer = 12, .reads = 4};
  rc_connect(my.qp[0], &mine, &my.theirs[0], &options);
}

static void serve(void) {
  open_qp();
  pthread_t waiter;
  MUST(pthread_create(&waiter, NULL, await_last, NULL) == 0);
  litmus_meet(&my);
  litmus_meet(&my);  // all messages are here
  struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
  MUST(ibv_modify_qp(my.qp[0], &error, IBV_QP_STATE) == 0);
  for (int looks = 0; looks < 200; ++looks) {
    pthread_mutex_lock(&lock);
    take_completion();
    pthread_mutex_unlock(&lock);
    if (looks % 4 == 0) usleep(2);
  }
  MUST(pthread_join(waiter, NULL) == 0);
}

static void send_messages(void) {
  litmus_meet(&my);
  for (int i = 0; i < kMessages; ++i) {
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
  }
  litmus_meet(&my);
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, argc > 2 ? 1 : 0, kQueue, 4096);
  my.server == NULL ? serve() : send_messages();
  litmus_meet(&my);
  printf("%d messages\n", kMessages);
  return 0;
}

// Programs that wait for ever: `hangs CASE` on the server, `hangs CASE server` on the client. The comment at
// each case names the host that hangs and the reason.
#include <poll.h>
#include <pthread.h>

#include "tests/litmus/litmus.h"

enum { kBytes = 64 };

static struct litmus my;

static void post_receive(void) { litmus_recv(&my, 0, 1, my.memory, kBytes); }

static void send_one(unsigned flags) { MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, flags) == 0); }

static void poll_for_ever(struct ibv_cq* cq) {
  struct ibv_wc wc;
  while (ibv_poll_cq(cq, 1, &wc) == 0) {
  }
}

static void sleep_for_event(int acknowledges) {
  struct ibv_cq* cq;
  void* context;
  MUST(ibv_get_cq_event(my.channel, &cq, &context) == 0);
  if (acknowledges) ibv_ack_cq_events(cq, 1);
}

static int is_server(void) { return my.server == NULL; }

// The server sleeps without having armed the CQ.
static void never_armed(void) {
  post_receive();
  litmus_meet(&my);
  if (is_server()) return sleep_for_event(1);
  send_one(IBV_SEND_SIGNALED);
  litmus_wait(my.send_cq);
}

// The server arms the CQ once, and sleeps twice.
static void not_armed_again(void) {
  post_receive();
  post_receive();
  MUST(ibv_req_notify_cq(my.recv_cq, 0) == 0);
  litmus_meet(&my);
  for (int i = 0; i < 2; ++i) {
    if (is_server()) {
      sleep_for_event(1);
      litmus_wait(my.recv_cq);
    } else {
      send_one(IBV_SEND_SIGNALED);
      litmus_wait(my.send_cq);
    }
    litmus_meet(&my);
  }
}

// The server waits for a solicited message by poll(2), and the client does not solicit.
static void not_solicited(void) {
  post_receive();
  MUST(ibv_req_notify_cq(my.recv_cq, 1) == 0);
  litmus_meet(&my);
  if (is_server()) {
    struct pollfd set = {.fd = my.channel->fd, .events = POLLIN};
    poll(&set, 1, -1);
    return;
  }
  send_one(IBV_SEND_SIGNALED);
  litmus_wait(my.send_cq);
}

// The server destroys a CQ whose event it has not acknowledged.
static void destroys_cq(void) {
  post_receive();
  MUST(ibv_req_notify_cq(my.recv_cq, 0) == 0);
  litmus_meet(&my);
  if (is_server()) {
    sleep_for_event(0);
    litmus_wait(my.recv_cq);
    MUST(ibv_destroy_qp(my.qp[0]) == 0);
    MUST(ibv_destroy_cq(my.recv_cq) == 0);
    return;
  }
  send_one(IBV_SEND_SIGNALED);
  litmus_wait(my.send_cq);
}

// The server takes two events and acknowledges none. It arms the CQ while it holds completions, which is harmless here.
static void unacknowledged_events(void) {
  post_receive();
  post_receive();
  MUST(ibv_req_notify_cq(my.recv_cq, 0) == 0);
  litmus_meet(&my);
  if (!is_server()) {
    for (int i = 0; i < 2; ++i) {
      send_one(IBV_SEND_SIGNALED);
      litmus_wait(my.send_cq);
    }
    litmus_meet(&my);
    return;
  }
  litmus_meet(&my);  // both messages have arrived
  sleep_for_event(0);
  MUST(ibv_req_notify_cq(my.recv_cq, 0) == 0);
  sleep_for_event(0);
  for (int i = 0; i < 2; ++i) litmus_wait(my.recv_cq);
  MUST(ibv_destroy_qp(my.qp[0]) == 0);
  MUST(ibv_destroy_cq(my.recv_cq) == 0);
}

static void* take_event(void* unused) {
  struct ibv_async_event event;
  MUST(ibv_get_async_event(my.context, &event) == 0);
  return unused;
}

// The server destroys a queue pair whose event another thread has taken.
static void destroys_qp(void) {
  litmus_meet(&my);
  if (!is_server()) return;
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, take_event, NULL) == 0);
  struct ibv_qp_attr drained = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
  MUST(ibv_modify_qp(my.qp[0], &drained, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0);
  MUST(pthread_join(thread, NULL) == 0);
  MUST(ibv_destroy_qp(my.qp[0]) == 0);
}

// The server polls and has posted no receive, and the client sends again and again.
static void no_receive(void) {
  litmus_meet(&my);
  if (!is_server()) send_one(IBV_SEND_SIGNALED);
  poll_for_ever(is_server() ? my.recv_cq : my.send_cq);
}

// The client waits for the completion of an unsignaled request.
static void not_signaled(void) {
  post_receive();
  litmus_meet(&my);
  if (is_server()) {
    litmus_wait(my.recv_cq);
    return;
  }
  send_one(0);
  poll_for_ever(my.send_cq);
}

// The client's RDMA READ fails because of its rkey. It does not look at the status, and waits for a third completion.
static void ignores_failure(void) {
  post_receive();
  litmus_meet(&my);
  if (is_server()) poll_for_ever(my.recv_cq);
  my.theirs[0].rkey = 0xff;
  MUST(litmus_send(&my, 0, IBV_WR_RDMA_READ, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
  send_one(0);
  for (int i = 0; i < 3; ++i) poll_for_ever(my.send_cq);
}

// The client's RDMA READ fails on its first queue pair. It goes on with its second one, whose request it does not signal.
static void goes_on_after_failure(void) {
  litmus_qp(&my, 1, kQueue);
  litmus_recv(&my, 1, 1, my.memory, kBytes);
  litmus_meet(&my);
  if (is_server()) {
    litmus_wait(my.recv_cq);
    return;
  }
  my.theirs[0].rkey = 0xff;
  MUST(litmus_send(&my, 0, IBV_WR_RDMA_READ, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
  poll_for_ever(my.send_cq);
  MUST(litmus_send(&my, 1, IBV_WR_SEND, my.memory, kBytes, 0, 0) == 0);
  poll_for_ever(my.send_cq);
}

// The client's last request is not signaled, and both wait with poll(2) for the events of two completion queues.
static void waits_for_two_queues(void) {
  struct ibv_comp_channel* channel = ibv_create_comp_channel(my.context);
  MUST(channel != NULL);
  struct ibv_cq* recv_cq = my.recv_cq;
  my.send_cq = ibv_create_cq(my.context, kQueue, NULL, channel, 0);
  my.recv_cq = recv_cq;
  MUST(my.send_cq != NULL);
  litmus_qp(&my, 1, kQueue);
  litmus_recv(&my, 1, 1, my.memory, kBytes);
  litmus_recv(&my, 1, 2, my.memory, kBytes);
  litmus_meet(&my);
  if (!is_server()) MUST(litmus_send(&my, 1, IBV_WR_SEND, my.memory, kBytes, 0, 0) == 0);
  if (is_server()) litmus_wait(my.recv_cq);
  MUST(ibv_req_notify_cq(my.recv_cq, 0) == 0 && ibv_req_notify_cq(my.send_cq, 0) == 0);
  struct pollfd set[] = {{.fd = my.channel->fd, .events = POLLIN}, {.fd = channel->fd, .events = POLLIN}};
  poll(set, 2, -1);
}

// The server waits for a message that the client does not send.
static void nothing_sent(void) {
  post_receive();
  litmus_meet(&my);
  poll_for_ever(my.recv_cq);
}

// Both wait for a message, and the server has no receive for one.
static void nothing_posted(void) {
  if (!is_server()) post_receive();
  litmus_meet(&my);
  poll_for_ever(my.recv_cq);
}

// The client sends to a destroyed queue pair, and waits for ever for an answer.
static void peer_is_gone(void) {
  litmus_meet(&my);
  if (is_server()) {
    MUST(ibv_destroy_qp(my.qp[0]) == 0);
    litmus_meet(&my);
    char byte;
    tcp_read(my.tcp, &byte, 1);
    return;
  }
  litmus_meet(&my);
  struct ibv_qp_attr to = {.qp_state = IBV_QPS_RESET};
  struct ibv_qp_init_attr init;
  MUST(ibv_query_qp(my.qp[0], &to, IBV_QP_AV, &init) == 0);
  struct ibv_qp_attr rtr = to;
  to.qp_state = IBV_QPS_RESET;
  MUST(ibv_modify_qp(my.qp[0], &to, IBV_QP_STATE) == 0);
  struct ibv_qp_attr first = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  MUST(ibv_modify_qp(my.qp[0], &first, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  rtr.qp_state = IBV_QPS_RTR;
  MUST(ibv_modify_qp(my.qp[0], &rtr,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                         IBV_QP_MIN_RNR_TIMER) == 0);
  struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .timeout = 0, .retry_cnt = 7, .rnr_retry = 7};
  MUST(ibv_modify_qp(my.qp[0], &rts,
                     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                         IBV_QP_MAX_QP_RD_ATOMIC) == 0);
  send_one(IBV_SEND_SIGNALED);
  poll_for_ever(my.send_cq);
}

static const struct {
  const char* name;
  void (*run)(void);
} kCases[] = {{"never-armed", never_armed},     {"not-armed-again", not_armed_again}, {"not-solicited", not_solicited},
              {"destroys-cq", destroys_cq},     {"destroys-qp", destroys_qp},         {"no-receive", no_receive},
              {"not-signaled", not_signaled},   {"nothing-sent", nothing_sent},       {"nothing-posted", nothing_posted},
              {"peer-is-gone", peer_is_gone},   {"unacknowledged-events", unacknowledged_events},
              {"ignores-failure", ignores_failure}, {"goes-on-after-failure", goes_on_after_failure},
              {"waits-for-two-queues", waits_for_two_queues}};

int main(int argc, char** argv) {
  MUST(argc >= 2);
  char* words[] = {argv[0], "buggy", argc > 2 ? argv[2] : NULL, NULL};
  litmus_start(&my, argc > 2 ? 3 : 2, words, 1, kQueue, 4096);
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    if (strcmp(argv[1], kCases[i].name) == 0) kCases[i].run();
  }
  char byte;
  if (!is_server()) tcp_read(my.tcp, &byte, 1);  // until the server ends
  return 0;
}

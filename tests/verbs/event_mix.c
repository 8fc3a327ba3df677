// One wait for everything: completion events, asynchronous events, a pipe, a timer, a counter and a socket, by poll, ppoll,
// select and epoll, level and edge. A datagram that the adapter sends to itself brings both of its events.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MUST(condition)                                  \
  do {                                                   \
    if (!(condition)) {                                  \
      printf("line %d: " #condition "\n", __LINE__);     \
      exit(1);                                           \
    }                                                    \
  } while (0)

enum { kCompletion, kAsync, kPipe, kTimer, kCounter, kSocket, kSources, kQkey = 0x1111 };
static const char* const kNames[] = {"completion", "async", "pipe", "timer", "counter", "socket"};

static struct ibv_context* context;
static struct ibv_comp_channel* channel;
static struct ibv_cq* cq;
static struct ibv_srq* srq;
static struct ibv_qp* qp;
static struct ibv_ah* self;
static struct ibv_mr* region;
static char buffer[4096];
static int fds[kSources], pipe_end, sender;
static struct sockaddr_in address;

static void make_queue_pair(void) {
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_port_attr port;
  MUST(ibv_query_port(context, 1, &port) == 0);
  channel = ibv_create_comp_channel(context);
  cq = ibv_create_cq(context, 16, NULL, channel, 0);
  struct ibv_srq_init_attr shared = {.attr = {.max_wr = 8, .max_sge = 1}};
  srq = ibv_create_srq(pd, &shared);
  struct ibv_qp_init_attr init = {
      .send_cq = cq, .recv_cq = cq, .srq = srq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_UD};
  qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  struct ibv_qp_attr state = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = kQkey};
  MUST(ibv_modify_qp(qp, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0);
  state.qp_state = IBV_QPS_RTR;
  MUST(ibv_modify_qp(qp, &state, IBV_QP_STATE) == 0);
  state.qp_state = IBV_QPS_RTS;
  MUST(ibv_modify_qp(qp, &state, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
  struct ibv_ah_attr to = {.dlid = port.lid, .port_num = 1};
  self = ibv_create_ah(pd, &to);
  region = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  MUST(self != NULL && region != NULL);
}

// The queue of receives falls below its limit when the datagram is there.
static void send_to_self(void) {
  struct ibv_sge part = {(uintptr_t)buffer, 1024, region->lkey};
  struct ibv_recv_wr receive = {.wr_id = 1, .sg_list = &part, .num_sge = 1}, *bad_receive;
  MUST(ibv_post_srq_recv(srq, &receive, &bad_receive) == 0);
  struct ibv_srq_attr limit = {.srq_limit = 1};
  MUST(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT) == 0 && ibv_req_notify_cq(cq, 0) == 0);
  struct ibv_sge data = {(uintptr_t)buffer + 2048, 64, region->lkey};
  struct ibv_send_wr send = {.opcode = IBV_WR_SEND, .sg_list = &data, .num_sge = 1}, *bad_send;
  send.wr.ud.ah = self;
  send.wr.ud.remote_qpn = qp->qp_num;
  send.wr.ud.remote_qkey = kQkey;
  MUST(ibv_post_send(qp, &send, &bad_send) == 0);
}

static void make_others(void) {
  int ends[2];
  MUST(pipe(ends) == 0);
  pipe_end = ends[1];
  fds[kCompletion] = channel->fd;
  fds[kAsync] = context->async_fd;
  fds[kPipe] = ends[0];
  fds[kTimer] = timerfd_create(CLOCK_MONOTONIC, 0);
  fds[kCounter] = eventfd(0, 0);
  fds[kSocket] = socket(AF_INET, SOCK_DGRAM, 0);
  sender = socket(AF_INET, SOCK_DGRAM, 0);
  address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  MUST(bind(fds[kSocket], (struct sockaddr*)&address, sizeof address) == 0);
}

static void cause(int source) {
  const struct itimerspec soon = {.it_value = {0, 5000}};
  switch (source) {
    case kCompletion:
    case kAsync:
      send_to_self();
      break;
    case kPipe:
      MUST(write(pipe_end, "x", 1) == 1);
      break;
    case kTimer:
      MUST(timerfd_settime(fds[kTimer], 0, &soon, NULL) == 0);
      break;
    case kCounter:
      MUST(eventfd_write(fds[kCounter], 1) == 0);
      break;
    default:
      MUST(sendto(sender, "x", 1, 0, (struct sockaddr*)&address, sizeof address) == 1);
  }
}

static void take(int source) {
  char bytes[16];
  struct ibv_cq* told;
  struct ibv_async_event event;
  struct ibv_wc wc;
  void* unused;
  switch (source) {
    case kCompletion:
      MUST(ibv_get_cq_event(channel, &told, &unused) == 0 && told == cq);
      ibv_ack_cq_events(cq, 1);
      while (ibv_poll_cq(cq, 1, &wc) == 1) MUST(wc.status == IBV_WC_SUCCESS);
      break;
    case kAsync:
      MUST(ibv_get_async_event(context, &event) == 0 && event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED);
      ibv_ack_async_event(&event);
      break;
    default:
      MUST(read(fds[source], bytes, sizeof bytes) > 0);
  }
}

// A bit for each readable source; 0 if there is none within a millisecond.
static unsigned by_poll(int with_mask) {
  struct pollfd set[kSources];
  for (int i = 0; i < kSources; ++i) set[i] = (struct pollfd){fds[i], POLLIN, 0};
  const struct timespec limit = {0, 1000000};
  MUST((with_mask ? ppoll(set, kSources, &limit, NULL) : poll(set, kSources, 1)) >= 0);
  unsigned found = 0;
  for (int i = 0; i < kSources; ++i) found |= (set[i].revents & POLLIN ? 1u : 0u) << i;
  return found;
}

static unsigned by_select(void) {
  fd_set set;
  FD_ZERO(&set);
  int most = 0;
  for (int i = 0; i < kSources; ++i) {
    FD_SET(fds[i], &set);
    most = fds[i] > most ? fds[i] : most;
  }
  struct timeval limit = {0, 1000};
  MUST(select(most + 1, &set, NULL, NULL, &limit) >= 0);
  unsigned found = 0;
  for (int i = 0; i < kSources; ++i) found |= (FD_ISSET(fds[i], &set) ? 1u : 0u) << i;
  return found;
}

static unsigned by_epoll(int set) {
  struct epoll_event events[kSources];
  const int n = epoll_wait(set, events, kSources, 1);
  MUST(n >= 0);
  unsigned found = 0;
  for (int i = 0; i < n; ++i) found |= 1u << events[i].data.u32;
  return found;
}

static int make_set(unsigned how) {
  const int set = epoll_create1(0);
  for (uint32_t i = 0; i < kSources; ++i) {
    struct epoll_event event = {EPOLLIN | how, {.u32 = i}};
    MUST(epoll_ctl(set, EPOLL_CTL_ADD, fds[i], &event) == 0);
  }
  return set;
}

static void print(const char* label, unsigned found) {
  printf("%s:", label);
  for (int i = 0; i < kSources; ++i) {
    if (found >> i & 1) printf(" %s", kNames[i]);
  }
  printf(found == 0 ? " nothing\n" : "\n");
}

static void look(const char* when, int level, int edge) {
  const unsigned found = by_poll(0);
  print(when, found);
  if (by_poll(1) != found || by_select() != found || by_epoll(level) != found) printf("  not all agree\n");
  print("  newly", by_epoll(edge));
}

int main(void) {
  struct ibv_device** devices = ibv_get_device_list(NULL);
  context = devices != NULL ? ibv_open_device(devices[0]) : NULL;
  MUST(context != NULL);
  make_queue_pair();
  make_others();
  const int level = make_set(0), edge = make_set(EPOLLET);
  look("at first", level, edge);
  for (int source = 0; source < kSources; ++source) {
    if (source == kAsync) continue;
    cause(source);
    print("the first", by_epoll(level));
    usleep(100);
    look("then", level, edge);
    look("still", level, edge);
    take(source);
    if (source == kCompletion) take(kAsync);
    look("taken", level, edge);
  }
  for (int source = 1; source < kSources; ++source) cause(source);
  usleep(100);
  look("everything", level, edge);
  return 0;
}

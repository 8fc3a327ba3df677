// A server and a client whose connections are fibers (makecontext, swapcontext), each with a stack of its own
// above a guard page. A fiber that waits for a completion or a descriptor lets the others run; when all wait,
// the scheduler sleeps in epoll until the completion channel or the connection has an event.
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

enum { kFibers = 12, kRounds = 15, kStack = 64 << 10, kSlot = 512, kPort = 18515 };

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) {                                       \
      printf("failed: line %d: %s\n", __LINE__, #condition); \
      exit(1);                                                \
    }                                                         \
  } while (0)

struct fiber {
  ucontext_t context;
  struct ibv_qp* qp;
  char* buffer;
  int sent, received, ended;
  uint32_t length;
};

static struct fiber fibers[kFibers];
static ucontext_t scheduler;
static struct fiber* running;
static struct ibv_cq* cq;
static struct ibv_comp_channel* channel;
static struct ibv_mr* mr;
static int is_server, right;

static void yield(void) { CHECK(swapcontext(&running->context, &scheduler) == 0); }

static void post_receive(struct fiber* f) {
  struct ibv_sge part = {(uintptr_t)f->buffer + kSlot, kSlot, mr->lkey};
  struct ibv_recv_wr request = {.wr_id = (f - fibers) * 2, .sg_list = &part, .num_sge = 1}, *bad;
  CHECK(ibv_post_recv(f->qp, &request, &bad) == 0);
}

static void send_text(struct fiber* f, const char* text) {
  strcpy(f->buffer, text);
  struct ibv_sge part = {(uintptr_t)f->buffer, strlen(text) + 1, mr->lkey};
  struct ibv_send_wr request = {.wr_id = (f - fibers) * 2 + 1, .sg_list = &part, .num_sge = 1, .opcode = IBV_WR_SEND,
                                .send_flags = IBV_SEND_SIGNALED}, *bad;
  f->sent = 0;
  CHECK(ibv_post_send(f->qp, &request, &bad) == 0);
  while (!f->sent) yield();
}

static const char* receive_text(struct fiber* f) {
  while (!f->received) yield();
  f->received = 0;
  return f->buffer + kSlot;
}

// Deep in the fiber's stack.
static int compose(char* text, int depth, int number, int round) {
  volatile char room[1024];
  room[0] = depth;
  if (depth > 0) return compose(text, depth - 1, number, round) + room[0] - depth;
  return sprintf(text, "fiber %d round %d", number, round);
}

static void serve(int number) {
  struct fiber* f = &fibers[number];
  for (int round = 0; round < kRounds; ++round) {
    char answer[kSlot];
    snprintf(answer, sizeof answer, "echo of %s", receive_text(f));
    post_receive(f);
    send_text(f, answer);
    ++right;
  }
  f->ended = 1;
}

static void ask(int number) {
  struct fiber* f = &fibers[number];
  for (int round = 0; round < kRounds; ++round) {
    char text[kSlot], expected[kSlot + 16];
    compose(text, 30, number, round);
    post_receive(f);
    send_text(f, text);
    snprintf(expected, sizeof expected, "echo of %s", text);
    if (strcmp(receive_text(f), expected) == 0) ++right;
  }
  f->ended = 1;
}

static int dispatch(void) {
  struct ibv_wc found[8];
  const int n = ibv_poll_cq(cq, 8, found);
  CHECK(n >= 0);
  for (int i = 0; i < n; ++i) {
    CHECK(found[i].status == IBV_WC_SUCCESS);
    struct fiber* f = &fibers[found[i].wr_id / 2];
    *(found[i].wr_id % 2 ? &f->sent : &f->received) = 1;
  }
  return n;
}

static void run_fibers(int epoll) {
  for (int left = kFibers; left > 0;) {
    left = 0;
    for (int i = 0; i < kFibers; ++i) {
      if (fibers[i].ended) continue;
      running = &fibers[i];
      CHECK(swapcontext(&scheduler, &running->context) == 0);
      left += !fibers[i].ended;
    }
    if (left == 0 || dispatch() > 0) continue;
    CHECK(ibv_req_notify_cq(cq, 0) == 0);
    if (dispatch() > 0) continue;
    struct epoll_event event;
    CHECK(epoll_wait(epoll, &event, 1, -1) == 1);
    struct ibv_cq* told;
    void* context;
    CHECK(ibv_get_cq_event(channel, &told, &context) == 0 && told == cq);
    ibv_ack_cq_events(cq, 1);
  }
}

static int connect_tcp(const char* host) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  if (host == NULL) {
    CHECK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0);
    CHECK(bind(fd, (struct sockaddr*)&name, sizeof name) == 0 && listen(fd, 1) == 0);
    const int accepted = accept(fd, NULL, NULL);
    close(fd);
    return accepted;
  }
  struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
  CHECK(getaddrinfo(host, NULL, &hints, &found) == 0);
  name.sin_addr = ((struct sockaddr_in*)found->ai_addr)->sin_addr;
  freeaddrinfo(found);
  CHECK(connect(fd, (struct sockaddr*)&name, sizeof name) == 0);
  return fd;
}

// Whatever is opened from now on has a number of at least `count`.
static void take_numbers(int count) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = count + 100;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  while (eventfd(0, 0) < count - 1) {
  }
}

static void connect_pair(struct ibv_qp* qp, uint32_t other, uint16_t lid) {
  struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_LOCAL_WRITE};
  CHECK(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = other, .max_dest_rd_atomic = 1,
                           .min_rnr_timer = 1, .ah_attr = {.dlid = lid, .port_num = 1}};
  CHECK(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
  a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
  CHECK(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                  IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

static void make_fiber(struct fiber* f, int number) {
  char* const stack = mmap(NULL, kStack + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(stack != MAP_FAILED && mprotect(stack, 4096, PROT_NONE) == 0 && getcontext(&f->context) == 0);
  f->context.uc_stack.ss_sp = stack;
  f->context.uc_stack.ss_size = kStack + 4096;
  f->context.uc_link = &scheduler;
  makecontext(&f->context, (void (*)(void))(is_server ? serve : ask), 1, number);
}

int main(int argc, char** argv) {
  is_server = argc < 2;
  if (getenv("DESCRIPTORS") != NULL) take_numbers(atoi(getenv("DESCRIPTORS")));
  struct ibv_device** list = ibv_get_device_list(NULL);
  CHECK(list != NULL && list[0] != NULL);
  struct ibv_context* context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  struct ibv_pd* pd = ibv_alloc_pd(context);
  channel = ibv_create_comp_channel(context);
  cq = ibv_create_cq(context, 4 * kFibers, NULL, channel, 0);
  char* memory = aligned_alloc(4096, kFibers * 2 * kSlot);
  mr = ibv_reg_mr(pd, memory, kFibers * 2 * kSlot, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_port_attr port;
  CHECK(ibv_query_port(context, 1, &port) == 0);
  struct {
    uint32_t lid, numbers[kFibers];
  } own = {.lid = port.lid}, other;
  for (int i = 0; i < kFibers; ++i) {
    struct ibv_qp_init_attr a = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {4, 4, 1, 1, 0}};
    CHECK((fibers[i].qp = ibv_create_qp(pd, &a)) != NULL);
    fibers[i].buffer = memory + i * 2 * kSlot;
    own.numbers[i] = fibers[i].qp->qp_num;
  }
  const int fd = connect_tcp(argc < 2 ? NULL : argv[1]);
  CHECK(write(fd, &own, sizeof own) == sizeof own && recv(fd, &other, sizeof other, MSG_WAITALL) == sizeof other);
  for (int i = 0; i < kFibers; ++i) {
    connect_pair(fibers[i].qp, other.numbers[i], other.lid);
    if (is_server) post_receive(&fibers[i]);
    make_fiber(&fibers[i], i);
  }
  char byte = 0;
  CHECK(write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 1);
  const int epoll = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  CHECK(fcntl(channel->fd, F_SETFL, O_NONBLOCK) == 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, channel->fd, &event) == 0);
  run_fibers(epoll);
  printf("%s: %d of %d\n", is_server ? "served" : "answered", right, kFibers * kRounds);
  CHECK(write(fd, &byte, 1) == 1 && read(fd, &byte, 1) == 1);
  for (int i = 0; i < kFibers; ++i) CHECK(ibv_destroy_qp(fibers[i].qp) == 0);
  CHECK(ibv_destroy_cq(cq) == 0 && ibv_destroy_comp_channel(channel) == 0 && ibv_dereg_mr(mr) == 0 &&
        ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}

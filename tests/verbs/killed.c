// A process killed at any verbs call leaves nothing behind that affects others. A parent creates children one
// after the other: each makes the same calls and is killed right before one of them, or by the parent at a
// moment among them. A sender to a dead child's queue pair gets RETRY_EXC. `killed COUNT` prints the number of
// killed children, and that a child which is not killed then ends normally; COUNT is the number of moments.
#include <errno.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kBytes = 4096, kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

// Between parent and child.
struct Shared {
  volatile uint32_t child_qpn, parent_qpn, parent_rkey;
  volatile uint32_t steps;
};
static struct Shared* shared;
static uint8_t parent_memory[kBytes] __attribute__((aligned(kBytes)));
static uint32_t stop_at;  // the step before which the child kills itself; 0: none

#define MUST(condition)                                                                         \
  do {                                                                                          \
    ++shared->steps;                                                                            \
    if (shared->steps == stop_at) kill(getpid(), SIGKILL);                                      \
    if (!(condition)) {                                                                         \
      printf("step %u, %s: errno %d (%s)\n", shared->steps, #condition, errno, strerror(errno)); \
      exit(1);                                                                                  \
    }                                                                                           \
  } while (0)

struct Side {
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_cq* cq;
  struct ibv_qp* qp;
  struct ibv_mr* mr;
  struct ibv_port_attr port;
};

static int modify(struct ibv_qp* qp, enum ibv_qp_state state, uint16_t lid, uint32_t peer) {
  struct ibv_qp_attr attr = {.qp_state = state, .port_num = 1, .qp_access_flags = kAll, .dest_qp_num = peer};
  attr.path_mtu = IBV_MTU_1024;
  attr.max_dest_rd_atomic = attr.max_rd_atomic = 1;
  attr.ah_attr.dlid = lid;
  attr.ah_attr.port_num = 1;
  attr.timeout = 5;  // 131 us
  attr.retry_cnt = 1;
  int mask = IBV_QP_STATE;
  if (state == IBV_QPS_INIT) mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  if (state == IBV_QPS_RTR)
    mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (state == IBV_QPS_RTS)
    mask |= IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  return ibv_modify_qp(qp, &attr, mask);
}

static void open_side(struct Side* side, void* memory) {
  struct ibv_device** list;
  MUST((list = ibv_get_device_list(NULL)) != NULL && list[0] != NULL);
  MUST((side->context = ibv_open_device(list[0])) != NULL);
  ibv_free_device_list(list);
  MUST(ibv_query_port(side->context, 1, &side->port) == 0);
  MUST((side->pd = ibv_alloc_pd(side->context)) != NULL);
  MUST((side->mr = ibv_reg_mr(side->pd, memory, kBytes, kAll)) != NULL);
  MUST((side->cq = ibv_create_cq(side->context, 16, NULL, NULL, 0)) != NULL);
  struct ibv_qp_init_attr init = {.send_cq = side->cq, .recv_cq = side->cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
  MUST((side->qp = ibv_create_qp(side->pd, &init)) != NULL);
}

static void close_side(struct Side* side) {
  MUST(ibv_destroy_qp(side->qp) == 0);
  MUST(ibv_destroy_cq(side->cq) == 0);
  MUST(ibv_dereg_mr(side->mr) == 0);
  MUST(ibv_dealloc_pd(side->pd) == 0);
  MUST(ibv_close_device(side->context) == 0);
}

static void connect_to(struct Side* side, uint32_t peer) {
  MUST(modify(side->qp, IBV_QPS_INIT, 0, 0) == 0);
  MUST(modify(side->qp, IBV_QPS_RTR, side->port.lid, peer) == 0);
  MUST(modify(side->qp, IBV_QPS_RTS, 0, 0) == 0);
}

static enum ibv_wc_status write_to(struct Side* side, void* from, uint64_t to, uint32_t rkey) {
  struct ibv_sge sge = {(uintptr_t)from, 64, side->mr->lkey};
  struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
  wr.wr.rdma.remote_addr = to;
  wr.wr.rdma.rkey = rkey;
  struct ibv_send_wr* bad;
  MUST(ibv_post_send(side->qp, &wr, &bad) == 0);
  struct ibv_wc wc;
  MUST(1);  // before the first poll
  while (ibv_poll_cq(side->cq, 1, &wc) == 0) {
  }
  return wc.status;
}

// Objects of every other kind.
static void make_others(struct Side* side) {
  struct ibv_comp_channel* channel;
  MUST((channel = ibv_create_comp_channel(side->context)) != NULL);
  struct ibv_cq_init_attr_ex wanted = {.cqe = 8, .channel = channel};
  struct ibv_cq_ex* cq;
  MUST((cq = ibv_create_cq_ex(side->context, &wanted)) != NULL);
  MUST(ibv_req_notify_cq(ibv_cq_ex_to_cq(cq), 0) == 0);
  MUST(ibv_resize_cq(side->cq, 40) == 0);
  struct ibv_srq_init_attr basic = {.attr = {.max_wr = 4, .max_sge = 1}};
  struct ibv_srq* srq;
  MUST((srq = ibv_create_srq(side->pd, &basic)) != NULL);
  struct ibv_xrcd_init_attr domain = {.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = 0100};
  struct ibv_xrcd* xrcd;
  MUST((xrcd = ibv_open_xrcd(side->context, &domain)) != NULL);
  struct ibv_srq_init_attr_ex in_domain = {.attr = {.max_wr = 4, .max_sge = 1},
                                           .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
                                                        IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
                                           .srq_type = IBV_SRQT_XRC, .pd = side->pd, .xrcd = xrcd, .cq = side->cq};
  struct ibv_srq* xrc_srq;
  MUST((xrc_srq = ibv_create_srq_ex(side->context, &in_domain)) != NULL);
  struct ibv_qp_init_attr_ex target = {.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd};
  struct ibv_qp* xrc_qp;
  MUST((xrc_qp = ibv_create_qp_ex(side->context, &target)) != NULL);
  struct ibv_qp_init_attr datagrams = {.send_cq = side->cq, .recv_cq = ibv_cq_ex_to_cq(cq), .srq = srq,
                                       .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_UD};
  struct ibv_qp* ud;
  MUST((ud = ibv_create_qp(side->pd, &datagrams)) != NULL);
  union ibv_gid group = {.raw = {0xff, 0x12, [15] = 9}};
  MUST(ibv_attach_mcast(ud, &group, 0xc009) == 0);
  struct ibv_ah_attr address = {.dlid = side->port.lid, .port_num = 1};
  struct ibv_ah* ah;
  MUST((ah = ibv_create_ah(side->pd, &address)) != NULL);
  struct ibv_mw* mw;
  MUST((mw = ibv_alloc_mw(side->pd, IBV_MW_TYPE_1)) != NULL);
  struct ibv_alloc_dm_attr size = {.length = 256};
  struct ibv_dm* dm;
  MUST((dm = ibv_alloc_dm(side->context, &size)) != NULL);
  struct ibv_mr* dm_mr;
  MUST((dm_mr = ibv_reg_dm_mr(side->pd, dm, 0, 256, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE)) != NULL);
  MUST(ibv_memcpy_to_dm(dm, 0, "0123456789abcdef", 16) == 0);
  struct ibv_mr* null_mr;
  MUST((null_mr = ibv_alloc_null_mr(side->pd)) != NULL);
  MUST(ibv_rereg_mr(side->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE) == 0);
  MUST(ibv_dereg_mr(null_mr) == 0);
  MUST(ibv_dereg_mr(dm_mr) == 0);
  MUST(ibv_free_dm(dm) == 0);
  MUST(ibv_dealloc_mw(mw) == 0);
  MUST(ibv_destroy_ah(ah) == 0);
  MUST(ibv_detach_mcast(ud, &group, 0xc009) == 0);
  MUST(ibv_destroy_qp(ud) == 0);
  MUST(ibv_destroy_qp(xrc_qp) == 0);
  MUST(ibv_destroy_srq(xrc_srq) == 0);
  MUST(ibv_close_xrcd(xrcd) == 0);
  MUST(ibv_destroy_srq(srq) == 0);
  MUST(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) == 0);
  MUST(ibv_destroy_comp_channel(channel) == 0);
}

static void live(void) {
  static uint8_t memory[kBytes] __attribute__((aligned(kBytes)));
  memset(memory, 'c', sizeof memory);
  struct Side side;
  open_side(&side, memory);
  shared->child_qpn = side.qp->qp_num;
  connect_to(&side, shared->parent_qpn);
  MUST(write_to(&side, memory, (uintptr_t)parent_memory, shared->parent_rkey) == IBV_WC_SUCCESS);
  make_others(&side);
  close_side(&side);
}

// One child's life; how it ended.
static int let_live(struct Side* side, uint32_t stop, long moment_ns) {
  memset(parent_memory, 0, sizeof parent_memory);
  struct ibv_qp_init_attr init = {.send_cq = side->cq, .recv_cq = side->cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
  side->qp = ibv_create_qp(side->pd, &init);
  if (side->qp == NULL || modify(side->qp, IBV_QPS_INIT, 0, 0) != 0) return -1;
  *shared = (struct Shared){.parent_qpn = side->qp->qp_num, .parent_rkey = side->mr->rkey};
  fflush(stdout);
  // The child knows the parent's queue pair; the parent continues when it knows the child's.
  const pid_t child = fork();
  if (child == 0) {
    stop_at = stop;
    live();
    _exit(0);
  }
  struct timespec nap = {0, 3000};
  long slept = 0;
  int status = 0, ended = 0, connected = 0;
  while (!ended) {
    if (!connected && shared->child_qpn != 0) {
      connected = 1;
      if (modify(side->qp, IBV_QPS_RTR, side->port.lid, shared->child_qpn) != 0) return -1;
    }
    nanosleep(&nap, NULL);
    slept += nap.tv_nsec;
    if (moment_ns != 0 && slept >= moment_ns) kill(child, SIGKILL);
    ended = waitpid(child, &status, WNOHANG) == child;
  }
  if (connected) {
    if (modify(side->qp, IBV_QPS_RTS, 0, 0) != 0) return -1;
    if (write_to(side, parent_memory, 0, 0) != IBV_WC_RETRY_EXC_ERR) return -1;
  }
  for (unsigned i = 0; i < kBytes; ++i) {
    if (parent_memory[i] != 0 && (i >= 64 || parent_memory[i] != 'c')) return -1;
  }
  if (ibv_destroy_qp(side->qp) != 0) return -1;
  return status;
}

int main(int argc, char** argv) {
  const int moments = argc > 1 ? atoi(argv[1]) : 0;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  struct Side side;
  open_side(&side, parent_memory);
  struct ibv_qp* const first = side.qp;
  const int whole = let_live(&side, 0, 0);
  const uint32_t steps = shared->steps - 3;  // the parent's own at the end: a write's two, and the check's
  printf("whole: %d\n", whole);
  int killed = 0, wrong = 0;
  for (uint32_t step = 1; step <= steps; ++step) {
    const int status = let_live(&side, step, 0);
    killed += status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    wrong += status == -1;
  }
  printf("before a call: %d of %u killed, %d wrong\n", killed, steps, wrong);
  killed = wrong = 0;
  for (int moment = 1; moment <= moments; ++moment) {
    const int status = let_live(&side, 0, moment * 3000L);
    killed += status >= 0 && WIFSIGNALED(status);
    wrong += status == -1;
  }
  printf("at a moment: %s, %d wrong\n", killed > moments / 2 ? "killed" : "not killed", wrong);
  const int last = let_live(&side, 0, 0);
  side.qp = first;
  close_side(&side);
  puts(last == 0 ? "right" : "wrong");
  return 0;
}

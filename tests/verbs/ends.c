#include "ends.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(condition)                                                                \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      printf("%s does not hold: errno %d (%s)\n", #condition, errno, strerror(errno)); \
      exit(1);                                                                         \
    }                                                                                  \
  } while (0)

struct ibv_context* device;
struct ibv_port_attr port;
union ibv_gid gid;
struct ibv_comp_channel* channel;
struct End a, b;
struct ibv_mr* extra;
struct Options options;

static char line[2048];

void say(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const size_t used = strlen(line);
  vsnprintf(line + used, sizeof line - used, format, arguments);
  va_end(arguments);
}

const char* name_of_error(int error) {
  switch (error) {
    case 0:
      return "0";
    case EINVAL:
      return "EINVAL";
    case ENOMEM:
      return "ENOMEM";
    case EBUSY:
      return "EBUSY";
    case EFAULT:
      return "EFAULT";
    case EBADF:
      return "EBADF";
    case EOPNOTSUPP:
      return "EOPNOTSUPP";
    default:
      return strerror(error);
  }
}

static const char* name_of_state(enum ibv_qp_state state) {
  static const char* const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return (unsigned)state < 7 ? names[state] : "?";
}

static const char* name_of_status(enum ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return "ok";
    case IBV_WC_LOC_LEN_ERR:
      return "LOC_LEN";
    case IBV_WC_LOC_QP_OP_ERR:
      return "LOC_QP_OP";
    case IBV_WC_LOC_PROT_ERR:
      return "LOC_PROT";
    case IBV_WC_WR_FLUSH_ERR:
      return "FLUSH";
    case IBV_WC_MW_BIND_ERR:
      return "MW_BIND";
    case IBV_WC_REM_INV_REQ_ERR:
      return "REM_INV_REQ";
    case IBV_WC_REM_ACCESS_ERR:
      return "REM_ACCESS";
    case IBV_WC_REM_OP_ERR:
      return "REM_OP";
    case IBV_WC_RETRY_EXC_ERR:
      return "RETRY_EXC";
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return "RNR_RETRY_EXC";
    default:
      return ibv_wc_status_str(status);
  }
}

void settle(void) { usleep(200000); }

static int is_datagram(void) { return options.type == IBV_QPT_UD; }

static struct ibv_cq* make_cq(void) {
  struct ibv_cq* cq = ibv_create_cq(device, options.cqe != 0 ? options.cqe : 64, NULL,
                                    options.cq_channel ? channel : NULL, 0);
  MUST(cq != NULL);
  return cq;
}

static void make_end(struct End* end) {
  end->pd = ibv_alloc_pd(device);
  MUST(end->pd != NULL);
  end->send_cq = make_cq();
  end->recv_cq = options.one_cq && end == &b ? a.send_cq : make_cq();
  end->buffer = aligned_alloc(4096, kBufferBytes);
  memset(end->buffer, end == &a ? 'a' : 'b', kBufferBytes);
  end->mr = ibv_reg_mr(
      end->pd, end->buffer, kBufferBytes,
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
  MUST(end->mr != NULL);
  end->srq = NULL;
  if (options.srq && end == &b) {
    struct ibv_srq_init_attr srq = {.attr = {.max_wr = kDepth, .max_sge = 1}};
    end->srq = ibv_create_srq(end->pd, &srq);
    MUST(end->srq != NULL);
  }
  struct ibv_qp_init_attr init = {.send_cq = end->send_cq,
                                  .recv_cq = end->recv_cq,
                                  .srq = end->srq,
                                  .cap = {kDepth, kDepth, 2, 2, 64},
                                  .qp_type = options.type,
                                  .sq_sig_all = options.sq_sig_all};
  end->qp = ibv_create_qp(end->pd, &init);
  MUST(end->qp != NULL);
}

int try_modify(struct ibv_qp* qp, enum ibv_qp_state state, int more, struct ibv_qp_attr* attributes) {
  attributes->qp_state = state;
  return ibv_modify_qp(qp, attributes, IBV_QP_STATE | more);
}

int to_state(struct End* end, enum ibv_qp_state state) {
  struct ibv_qp_attr attributes = {0};
  return try_modify(end->qp, state, 0, &attributes);
}

static int value(int given, int usual) { return given == -1 ? 0 : given == 0 ? usual : given; }

static void to_init(struct End* end) {
  const int all = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  struct ibv_qp_attr attributes = {.port_num = 1, .qkey = kQkey};
  attributes.qp_access_flags = (unsigned)(end == &b ? value(options.access_b, all) : all);
  const int last = is_datagram() ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
  MUST(try_modify(end->qp, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | last, &attributes) == 0);
}

static void to_rtr(struct End* end, const struct End* peer) {
  struct ibv_qp_attr attributes = {.ah_attr = {.dlid = port.lid, .port_num = 1}};
  attributes.path_mtu = end == &b && options.mtu_b != 0 ? (enum ibv_mtu)options.mtu_b : IBV_MTU_1024;
  attributes.dest_qp_num = peer->qp->qp_num;
  attributes.max_dest_rd_atomic = (uint8_t)value(options.max_dest_rd_atomic, 4);
  attributes.min_rnr_timer = 1;
  int mask = 0;
  if (!is_datagram()) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (options.type == IBV_QPT_RC) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  MUST(try_modify(end->qp, IBV_QPS_RTR, mask, &attributes) == 0);
}

static void to_rts(struct End* end) {
  struct ibv_qp_attr attributes = {.timeout = 8, .retry_cnt = 1};
  attributes.rnr_retry = (uint8_t)value(options.rnr_retry, 7);
  attributes.max_rd_atomic = (uint8_t)value(options.max_rd_atomic, 4);
  int mask = IBV_QP_SQ_PSN;
  if (options.type == IBV_QPT_RC) {
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  MUST(try_modify(end->qp, IBV_QPS_RTS, mask, &attributes) == 0);
}

void connect_ends(void) {
  if (options.type == 0) options.type = IBV_QPT_RC;
  make_end(&a);
  make_end(&b);
  to_init(&a);
  to_rtr(&a, &b);
  to_rts(&a);
  if (options.b_stops_at == -1) return;
  to_init(&b);
  if (options.b_stops_at == IBV_QPS_INIT) return;
  to_rtr(&b, &a);
  if (options.b_stops_at != IBV_QPS_RTR) to_rts(&b);
}

static void print_completions(const char* label, struct ibv_cq* cq) {
  struct ibv_wc wc;
  const char* between = "";
  say(" %s[", label);
  while (ibv_poll_cq(cq, 1, &wc) == 1) {
    say("%s%d %s", between, (int)wc.wr_id, name_of_status(wc.status));
    between = ", ";
    if (wc.status != IBV_WC_SUCCESS || (wc.opcode & IBV_WC_RECV) == 0) {
      if (wc.wc_flags != 0) say(" flags=%x", wc.wc_flags);
      continue;
    }
    say(" %u bytes", wc.byte_len);
    if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) say(" of a write");
    if ((wc.wc_flags & IBV_WC_GRH) != 0) say(" grh");
    if ((wc.wc_flags & IBV_WC_WITH_IMM) != 0) say(" imm=%x", wc.imm_data);
    if ((wc.wc_flags & IBV_WC_WITH_INV) != 0) say(" invalidated");
    if (is_datagram() && wc.src_qp != a.qp->qp_num) say(" from a stranger");
  }
  say("]");
}

static void print_events(void) {
  struct ibv_async_event event;
  const char* between = "";
  say(" events[");
  while (ibv_get_async_event(device, &event) == 0) {
    const char* whose = "";
    if (event.element.qp == a.qp || event.element.cq == a.send_cq || event.element.cq == a.recv_cq)
      whose = "A ";
    if (event.element.qp == b.qp || event.element.cq == b.send_cq || event.element.cq == b.recv_cq ||
        (b.srq != NULL && event.element.srq == b.srq)) {
      whose = "B ";
    }
    say("%s%s%s", between, whose, ibv_event_type_str(event.event_type));
    between = ", ";
    ibv_ack_async_event(&event);
  }
  say("]");
}

static enum ibv_qp_state state_of(const struct End* end) {
  struct ibv_qp_attr attributes;
  struct ibv_qp_init_attr init;
  MUST(ibv_query_qp(end->qp, &attributes, IBV_QP_STATE, &init) == 0);
  MUST(attributes.cur_qp_state == attributes.qp_state);
  return attributes.qp_state;
}

static void destroy_end(struct End* end) {
  MUST(ibv_destroy_qp(end->qp) == 0);
  if (end->srq != NULL) MUST(ibv_destroy_srq(end->srq) == 0);
  // A common one is destroyed with the second end.
  const int shared = options.one_cq && (end == &a ? end->send_cq == b.recv_cq : 0);
  MUST(shared || ibv_destroy_cq(end->send_cq) == 0);
  MUST(ibv_destroy_cq(end->recv_cq) == 0);
  MUST(ibv_dereg_mr(end->mr) == 0 && ibv_dealloc_pd(end->pd) == 0);
  free(end->buffer);
}

void finish_ends(const char* name) {
  settle();
  print_completions("A", a.send_cq);
  print_completions("B", b.recv_cq);
  say(" %s %s", name_of_state(state_of(&a)), name_of_state(state_of(&b)));
  print_events();
  if (extra != NULL) MUST(ibv_dereg_mr(extra) == 0);
  extra = NULL;
  destroy_end(&a);
  destroy_end(&b);
  printf("%s:%s\n", name, line);
  line[0] = 0;
  options = (struct Options){0};
}

struct ibv_ah* address_of_this_port(int global) {
  struct ibv_ah_attr address = {.dlid = port.lid, .port_num = 1, .is_global = (uint8_t)global};
  address.grh.dgid = gid;
  address.grh.hop_limit = 1;
  struct ibv_ah* ah = ibv_create_ah(a.pd, &address);
  MUST(ah != NULL);
  return ah;
}

struct ibv_sge sge_of(const struct End* end, uint32_t offset, uint32_t length) {
  return (struct ibv_sge){(uintptr_t)end->buffer + offset, length, end->mr->lkey};
}

int post_recv(struct End* end, uint64_t id, uint32_t length) {
  struct ibv_sge sge = sge_of(end, 0, length);
  struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad = NULL;
  return end->srq != NULL ? ibv_post_srq_recv(end->srq, &wr, &bad) : ibv_post_recv(end->qp, &wr, &bad);
}

struct ibv_send_wr request(uint64_t id, enum ibv_wr_opcode opcode, struct ibv_sge* sge) {
  struct ibv_send_wr wr = {.wr_id = id, .sg_list = sge, .num_sge = 1, .opcode = opcode};
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.imm_data = 0x1234;
  if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    wr.wr.atomic.remote_addr = (uintptr_t)b.buffer;
    wr.wr.atomic.rkey = b.mr->rkey;
  } else if (!is_datagram()) {
    wr.wr.rdma.remote_addr = (uintptr_t)b.buffer;
    wr.wr.rdma.rkey = b.mr->rkey;
  } else {
    wr.wr.ud.remote_qpn = b.qp->qp_num;
    wr.wr.ud.remote_qkey = kQkey;
  }
  return wr;
}

int post(struct ibv_send_wr* wr) {
  struct ibv_send_wr* bad = NULL;
  const int error = ibv_post_send(a.qp, wr, &bad);
  if (error != 0 && bad == NULL) say(" bad_wr is not set");
  return error;
}

int post_simple(uint64_t id, enum ibv_wr_opcode opcode, uint32_t length) {
  struct ibv_sge sge = sge_of(&a, 0, length);
  struct ibv_send_wr wr = request(id, opcode, &sge);
  return post(&wr);
}

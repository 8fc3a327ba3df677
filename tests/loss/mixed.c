// `mixed` on one host, `mixed SERVER` on the other: every operation of a reliable connection, small and of
// several packets, all posted at once. Both ends check every byte, completion and atomic. `-r N` sets how
// often the client retries, `-t N` its timeout. Exit code 0: all is as it must be; what a completion in error
// was is printed.
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define MUST(condition)                                               \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(99);                                                       \
    }                                                                 \
  } while (0)

enum { kSlot = 4096, kSteps = 16, kBytes = 4 * kSteps * kSlot, kWordBytes = 8 * kSteps, kReceives = 8 };
// Areas of the buffer, one slot a step: source of requests, and targets of SENDs, WRITEs and READs.
enum { kOut = 0, kReceived = kSteps * kSlot, kWritten = 2 * kSteps * kSlot, kRead = 3 * kSteps * kSlot };

struct step {
  const char* name;
  enum ibv_wr_opcode opcode;
  uint32_t length;
  uint64_t compare_add, swap, before;  // atomics: and the value that must have been there
};

static const struct step kPlan[kSteps] = {
    {"send", IBV_WR_SEND, 10, 0, 0, 0},
    {"send", IBV_WR_SEND, 3000, 0, 0, 0},
    {"send-imm", IBV_WR_SEND_WITH_IMM, 10, 0, 0, 0},
    {"send-imm", IBV_WR_SEND_WITH_IMM, 3000, 0, 0, 0},
    {"fetch-add", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 1, 0, 0},
    {"write", IBV_WR_RDMA_WRITE, 10, 0, 0, 0},
    {"write", IBV_WR_RDMA_WRITE, 3000, 0, 0, 0},
    {"compare-swap", IBV_WR_ATOMIC_CMP_AND_SWP, 8, 0, 5, 0},
    {"read", IBV_WR_RDMA_READ, 10, 0, 0, 0},
    {"read", IBV_WR_RDMA_READ, 3000, 0, 0, 0},
    {"compare-swap", IBV_WR_ATOMIC_CMP_AND_SWP, 8, 5, 9, 5},
    {"fetch-add", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 16, 0, 1},
    {"write-imm", IBV_WR_RDMA_WRITE_WITH_IMM, 10, 0, 0, 0},
    {"write-imm", IBV_WR_RDMA_WRITE_WITH_IMM, 3000, 0, 0, 0},
    {"send-invalidate", IBV_WR_SEND_WITH_INV, 10, 0, 0, 0},
    {"send-invalidate", IBV_WR_SEND_WITH_INV, 3000, 0, 0, 0},
};

struct end {
  uint32_t qpn, psn, rkey, doomed[2];  // doomed: keys for the sends that invalidate
  uint16_t lid, zero;  // no padding: every byte is sent
  uint64_t address, words;
};

static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_cq* cq;
static struct ibv_qp* qp;
static struct ibv_mr *buffer_mr, *words_mr;
static struct ibv_mw* windows[2];  // on the words, until a peer's send ends them
// At an address of the program's choice: its packets carry it, and a compiler must not decide what they say.
static uint8_t* const buffer = (uint8_t*)0x10000000;
static uint64_t* const words = (uint64_t*)(0x10000000 + kBytes);  // server: 0 is added to, 1 is swapped
static int wrong;

static uint8_t byte_of(int step, uint32_t i) { return (uint8_t)(step * 37 + i * 7 + i / 253 + 1); }
static void fill(int area, int step) {
  for (uint32_t i = 0; i < kPlan[step].length; ++i) buffer[area + step * kSlot + i] = byte_of(step, i);
}
static void complain(const char* what, int step) {
  printf("wrong: %s of step %d (%s)\n", what, step, kPlan[step].name);
  wrong = 1;
}
static void check(const char* what, uint32_t at, int step) {
  for (uint32_t i = 0; i < kPlan[step].length; ++i) {
    if (buffer[at + i] != byte_of(step, i)) return complain(what, step);
  }
}

static int is_received(const struct step* step) {
  return step->opcode == IBV_WR_SEND || step->opcode == IBV_WR_SEND_WITH_IMM ||
         step->opcode == IBV_WR_SEND_WITH_INV || step->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static int connect_tcp(const char* server) {
  const int on = 1;
  int fd;
  if (server == NULL) {
    const int listening = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(7471)};
    MUST(listening >= 0 && setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    MUST(bind(listening, (struct sockaddr*)&any, sizeof any) == 0 && listen(listening, 1) == 0);
    fd = accept(listening, NULL, NULL);
    close(listening);
  } else {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
    MUST(getaddrinfo(server, "7471", &hints, &found) == 0);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    MUST(connect(fd, found->ai_addr, found->ai_addrlen) == 0);
    freeaddrinfo(found);
  }
  MUST(fd >= 0);
  return fd;
}

static void all(ssize_t (*move)(int, void*, size_t), int fd, void* bytes, size_t n) {
  MUST(move(fd, bytes, n) == (ssize_t)n);
}
static ssize_t send_all(int fd, void* bytes, size_t n) { return send(fd, bytes, n, 0); }
static ssize_t receive_all(int fd, void* bytes, size_t n) { return recv(fd, bytes, n, MSG_WAITALL); }

static struct end open_adapter(void) {
  MUST(mmap(buffer, kBytes + kWordBytes, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == buffer);
  struct ibv_device** devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  ibv_free_device_list(devices);
  pd = ibv_alloc_pd(context);
  cq = ibv_create_cq(context, 64, NULL, NULL, 0);
  MUST(pd != NULL && cq != NULL);
  const int access =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  buffer_mr = ibv_reg_mr(pd, buffer, kBytes, access);
  words_mr = ibv_reg_mr(pd, words, kWordBytes, access | IBV_ACCESS_MW_BIND);
  MUST(buffer_mr != NULL && words_mr != NULL);
  struct ibv_qp_init_attr make = {
      .send_cq = cq,
      .recv_cq = cq,
      .cap = {.max_send_wr = 32, .max_recv_wr = 32, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1};
  qp = ibv_create_qp(pd, &make);
  MUST(qp != NULL);
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = (unsigned)access};
  MUST(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  struct ibv_port_attr port;
  MUST(ibv_query_port(context, 1, &port) == 0);
  struct end mine = {.qpn = qp->qp_num,
                     .psn = 0xfffffa,  // wraps around during the test
                     .rkey = buffer_mr->rkey,
                     .lid = port.lid,
                     .address = (uintptr_t)buffer,
                     .words = (uintptr_t)words};
  for (int i = 0; i < 2; ++i) {
    windows[i] = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
    MUST(windows[i] != NULL);
    mine.doomed[i] = ibv_inc_rkey(windows[i]->rkey);
  }
  return mine;
}

static void bind_windows(const struct end* mine) {
  for (int i = 0; i < 2; ++i) {
    struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW}, *bad;
    wr.bind_mw.mw = windows[i];
    wr.bind_mw.rkey = mine->doomed[i];
    wr.bind_mw.bind_info = (struct ibv_mw_bind_info){words_mr, (uintptr_t)words, kWordBytes, IBV_ACCESS_REMOTE_ATOMIC};
    MUST(ibv_post_send(qp, &wr, &bad) == 0);
    struct ibv_wc wc;
    int n = 0;
    while (n == 0) n = ibv_poll_cq(cq, 1, &wc);
    MUST(n == 1 && wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_BIND_MW);
  }
}

static void connect_qp(const struct end* mine, const struct end* theirs, int retries, int timeout) {
  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
                            .path_mtu = IBV_MTU_1024,
                            .dest_qp_num = theirs->qpn,
                            .rq_psn = theirs->psn,
                            .max_dest_rd_atomic = 2,
                            .min_rnr_timer = 1,
                            .ah_attr = {.dlid = theirs->lid, .port_num = 1}};
  MUST(ibv_modify_qp(qp, &rtr,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
  struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
                            .sq_psn = mine->psn,
                            .timeout = (uint8_t)timeout,
                            .retry_cnt = (uint8_t)retries,
                            .rnr_retry = 7,
                            .max_rd_atomic = 2};
  MUST(ibv_modify_qp(qp, &rts,
                     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                         IBV_QP_MAX_QP_RD_ATOMIC) == 0);
  bind_windows(mine);
}

static void post(int i, const struct end* theirs, int invalidated) {
  const struct step* step = &kPlan[i];
  struct ibv_sge sge = {(uintptr_t)buffer + kOut + i * kSlot, step->length, buffer_mr->lkey};
  struct ibv_send_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1, .opcode = step->opcode}, *bad;
  wr.wr.rdma.remote_addr = theirs->address + kWritten + i * kSlot;
  wr.wr.rdma.rkey = theirs->rkey;
  switch (step->opcode) {
    case IBV_WR_SEND_WITH_IMM:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      wr.imm_data = htonl(i);
      break;
    case IBV_WR_SEND_WITH_INV:
      wr.invalidate_rkey = theirs->doomed[invalidated];
      break;
    case IBV_WR_RDMA_READ:
      wr.wr.rdma.remote_addr = theirs->address + kOut + i * kSlot;
      sge.addr = (uintptr_t)buffer + kRead + i * kSlot;
      break;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      wr.wr.atomic.remote_addr = theirs->words + (step->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? 8 : 0);
      wr.wr.atomic.rkey = theirs->doomed[1];  // valid until the last step
      wr.wr.atomic.compare_add = step->compare_add;
      wr.wr.atomic.swap = step->swap;
      sge = (struct ibv_sge){(uintptr_t)&words[i], 8, words_mr->lkey};
      break;
    default:
      break;
  }
  MUST(ibv_post_send(qp, &wr, &bad) == 0);
}

// The number of steps that completed well; all before the first error have.
static int run_client(const struct end* theirs) {
  int invalidated = 0, good = 0, failed = 0;
  for (int i = 0; i < kSteps; ++i) fill(kOut, i);
  for (int i = 0; i < kSteps; ++i)
    post(i, theirs, kPlan[i].opcode == IBV_WR_SEND_WITH_INV ? invalidated++ : 0);
  for (int done = 0; done < kSteps;) {
    struct ibv_wc wc;
    const int n = ibv_poll_cq(cq, 1, &wc);
    MUST(n >= 0);
    if (n == 0) continue;
    const int i = done++;
    if (wc.wr_id != (uint64_t)i) complain("order", i);
    if (wc.status == IBV_WC_SUCCESS) {
      if (failed) complain("success after an error", i);
      ++good;
      if (kPlan[i].opcode == IBV_WR_RDMA_READ) check("data", kRead + i * kSlot, i);
      if (kPlan[i].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || kPlan[i].opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
        if (words[i] != kPlan[i].before) complain("value before", i);
      }
    } else if (failed++ == 0) {
      printf("step %d (%s): %s, then %d flushed\n", i, kPlan[i].name, ibv_wc_status_str(wc.status),
             kSteps - 1 - i);
    } else if (wc.status != IBV_WC_WR_FLUSH_ERR) {
      complain("status behind an error", i);
    }
  }
  return good;
}

// `good` steps completed at the client; one or more after them may have happened here as well.
static void check_server(int good) {
  const uint64_t kAdded[] = {0, 1, 17}, kSwapped[] = {0, 5, 9};
  int received = 0, adds = 0, swaps = 0, next = 0;
  for (struct ibv_wc wc; received < kReceives;) {
    const int n = ibv_poll_cq(cq, 1, &wc);
    MUST(n >= 0);
    if (n == 0) {
      while (next < kSteps && !is_received(&kPlan[next])) ++next;
      if (next >= good) break;  // no further message is needed
      continue;
    }
    while (next < kSteps && !is_received(&kPlan[next])) ++next;
    MUST(next < kSteps);
    const struct step* step = &kPlan[next];
    if (wc.status != IBV_WC_SUCCESS || wc.wr_id != (uint64_t)received) complain("receive", next);
    if (wc.byte_len != step->length) complain("length", next);
    if (step->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
      if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM) complain("opcode", next);
    } else {
      check("data", kReceived + received * kSlot, next);
    }
    if ((wc.wc_flags & IBV_WC_WITH_IMM) && wc.imm_data != htonl(next)) complain("immediate", next);
    ++received, ++next;
  }
  for (int i = 0; i < good; ++i) {
    if (kPlan[i].opcode == IBV_WR_RDMA_WRITE || kPlan[i].opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
      check("data", kWritten + i * kSlot, i);
    }
    adds += kPlan[i].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    swaps += kPlan[i].opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
  }
  int added = adds, swapped = swaps;
  while (added < 2 && words[0] != kAdded[added] && good < kSteps) ++added;
  while (swapped < 2 && words[1] != kSwapped[swapped] && good < kSteps) ++swapped;
  if (words[0] != kAdded[added] || words[1] != kSwapped[swapped]) {
    printf("wrong: atomics left %lu and %lu\n", (unsigned long)words[0], (unsigned long)words[1]);
    wrong = 1;
  }
}

int main(int argc, char** argv) {
  int retries = 7, timeout = 8;
  for (int option; (option = getopt(argc, argv, "r:t:")) != -1;) {
    MUST(option == 'r' || option == 't');
    *(option == 'r' ? &retries : &timeout) = atoi(optarg);
  }
  const char* server = argv[optind];
  struct end mine = open_adapter(), theirs;
  if (server == NULL) {
    for (int i = 0; i < kSteps; ++i) fill(kOut, i);
    for (int i = 0; i < kReceives; ++i) {
      struct ibv_sge sge = {(uintptr_t)buffer + kReceived + i * kSlot, kSlot, buffer_mr->lkey};
      struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;
      MUST(ibv_post_recv(qp, &wr, &bad) == 0);
    }
  }
  const int tcp = connect_tcp(server);
  all(send_all, tcp, &mine, sizeof mine);
  all(receive_all, tcp, &theirs, sizeof theirs);
  connect_qp(&mine, &theirs, retries, timeout);
  int ready = 0, good = 0;
  all(send_all, tcp, &ready, sizeof ready);
  all(receive_all, tcp, &ready, sizeof ready);
  if (server != NULL) {
    good = run_client(&theirs);
    all(send_all, tcp, &good, sizeof good);
  } else {
    all(receive_all, tcp, &good, sizeof good);
    check_server(good);
  }
  struct ibv_qp_attr attributes;
  struct ibv_qp_init_attr made;
  MUST(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &made) == 0);
  printf("%d of %d steps, queue pair %s\n", good, kSteps,
         attributes.qp_state == IBV_QPS_RTS   ? "RTS"
         : attributes.qp_state == IBV_QPS_ERR ? "ERR"
                                              : "in another state");
  return wrong;
}

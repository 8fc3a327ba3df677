// `traffic` on one host, `traffic SERVER` on the other: both send all the time, until each has sent and
// received its messages or the other end is gone. Every posted request must complete, in order, with success
// or flushed. Exit code 0: it did; the last line describes the end.
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MUST(condition)                                               \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(99);                                                       \
    }                                                                 \
  } while (0)

enum { kMessages = 250, kWindow = 8, kSize = 6000 };

struct end {
  uint32_t qpn, psn;
  uint16_t lid;
};

static uint8_t buffer[2 * kWindow * kSize];

static void gone(const char* when) {
  printf("the other end went away %s\n", when);
  exit(0);
}

static int connect_tcp(const char* server) {
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(7472)};
  if (server != NULL) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
    MUST(getaddrinfo(server, "7472", &hints, &found) == 0);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, found->ai_addr, found->ai_addrlen) != 0) gone("before it listened");
    freeaddrinfo(found);
    return fd;
  }
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  MUST(listening >= 0 && bind(listening, (struct sockaddr*)&any, sizeof any) == 0 &&
       listen(listening, 1) == 0);
  // Whoever is killed before it connects is not waited for.
  struct pollfd waiting = {listening, POLLIN, 0};
  if (poll(&waiting, 1, 2000) == 0) gone("before it connected");
  const int fd = accept(listening, NULL, NULL);
  MUST(fd >= 0);
  return fd;
}

static void swap(int tcp, const void* mine, void* theirs, size_t n) {
  if (send(tcp, mine, n, MSG_NOSIGNAL) != (ssize_t)n) gone("while connecting");
  if (recv(tcp, theirs, n, MSG_WAITALL) != (ssize_t)n) gone("while connecting");
}

int main(int argc, char** argv) {
  struct ibv_device** devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  struct ibv_context* context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 4 * kWindow, NULL, NULL, 0);
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  MUST(pd != NULL && cq != NULL && mr != NULL);
  struct ibv_qp_init_attr make = {
      .send_cq = cq,
      .recv_cq = cq,
      .cap = {.max_send_wr = kWindow, .max_recv_wr = kWindow, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1};
  struct ibv_qp* qp = ibv_create_qp(pd, &make);
  MUST(qp != NULL);
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  MUST(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  struct ibv_port_attr port;
  MUST(ibv_query_port(context, 1, &port) == 0);

  int sends = 0, receives = 0, sent = 0, received = 0, failed = 0, flushed = 0;
  struct ibv_sge sge = {.length = kSize, .lkey = mr->lkey};
  while (receives < kWindow) {
    sge.addr = (uintptr_t)buffer + receives * kSize;
    struct ibv_recv_wr wr = {.wr_id = receives++, .sg_list = &sge, .num_sge = 1}, *bad;
    MUST(ibv_post_recv(qp, &wr, &bad) == 0);
  }
  const int tcp = connect_tcp(argc > 1 ? argv[1] : NULL);
  const struct end mine = {qp->qp_num, 0xfffff0, port.lid};
  struct end theirs;
  swap(tcp, &mine, &theirs, sizeof mine);
  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
                            .path_mtu = IBV_MTU_1024,
                            .dest_qp_num = theirs.qpn,
                            .rq_psn = theirs.psn,
                            .min_rnr_timer = 1,
                            .ah_attr = {.dlid = theirs.lid, .port_num = 1}};
  MUST(ibv_modify_qp(qp, &rtr,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
  struct ibv_qp_attr rts = {
      .qp_state = IBV_QPS_RTS, .sq_psn = mine.psn, .timeout = 6, .retry_cnt = 7, .rnr_retry = 7};
  MUST(ibv_modify_qp(qp, &rts,
                     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                         IBV_QP_MAX_QP_RD_ATOMIC) == 0);
  char ready = 1;
  swap(tcp, &ready, &ready, 1);

  for (;;) {
    while (!failed && sends < kMessages && sends - sent < kWindow) {
      sge.addr = (uintptr_t)buffer + (kWindow + sends % kWindow) * kSize;
      struct ibv_send_wr wr = {.wr_id = 1000 + sends++, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND},
                         *bad;
      MUST(ibv_post_send(qp, &wr, &bad) == 0);
    }
    if (failed && sent + received == sends + receives) break;
    if (!failed && sent == kMessages && received == kMessages) break;
    struct ibv_wc wc;
    const int n = ibv_poll_cq(cq, 1, &wc);
    MUST(n >= 0);
    if (n == 0) {
      // All its messages are acknowledged; only the peer can send more, and it may be gone.
      if (sent == kMessages && recv(tcp, &ready, 1, MSG_DONTWAIT) == 0) break;
      continue;
    }
    if (wc.wr_id >= 1000) {
      MUST(wc.wr_id == 1000u + sent);
      ++sent;
    } else {
      MUST(wc.wr_id == (uint64_t)received);
      ++received;
    }
    if (wc.status == IBV_WC_SUCCESS) {
      MUST(!failed);
      if (wc.wr_id < 1000 && receives < kMessages) {
        sge.addr = (uintptr_t)buffer + receives % kWindow * kSize;
        struct ibv_recv_wr wr = {.wr_id = receives++, .sg_list = &sge, .num_sge = 1}, *bad;
        MUST(ibv_post_recv(qp, &wr, &bad) == 0);
      }
    } else if (!failed) {
      failed = 1;
      MUST(wc.wr_id >= 1000);
      printf("%s; ", ibv_wc_status_str(wc.status));
    } else {
      MUST(wc.status == IBV_WC_WR_FLUSH_ERR);
      ++flushed;
    }
  }
  if (failed) {
    printf("%d flushed\n", flushed);
  } else {
    printf(sent == kMessages && received == kMessages ? "all sent and received\n"
                                                      : "all sent, the other end went away\n");
  }
  MUST(ibv_destroy_qp(qp) == 0);
  return 0;
}

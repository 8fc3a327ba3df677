// two_adapters [SERVER]: two hosts with two adapters each. The program creates a queue pair on each adapter,
// connected to the peer's other adapter. Both hosts send and receive on both, polling the two queues
// alternately, and print content, device and time of each message. Then one adapter writes into memory that
// both adapters have registered, for which the other adapter's keys are invalid.
#include "rc_pair.h"

#include <infiniband/verbs.h>
#include <time.h>

enum { kAdapters = 2, kMessages = 24, kBytes = 3000, kTcpPort = 7200 };

struct adapter {
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_mr* mr;
  struct ibv_cq* cq;
  struct ibv_qp* qp;
  char* out;
  char* in;
  uint16_t lid;
};

struct end {
  uint32_t qpn, rkey;
  uint64_t address;
  uint16_t lid;
};

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void open_adapter(struct ibv_device* device, struct adapter* a, char* memory) {
  a->context = ibv_open_device(device);
  MUST(a->context != NULL);
  a->pd = ibv_alloc_pd(a->context);
  a->out = memory;
  a->in = memory + kBytes * kMessages;
  a->mr = ibv_reg_mr(a->pd, memory, 2 * kBytes * kMessages, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  a->cq = ibv_create_cq(a->context, 4 * kMessages, NULL, NULL, 0);
  MUST(a->pd != NULL && a->mr != NULL && a->cq != NULL);
  struct ibv_qp_init_attr init = {
      .send_cq = a->cq, .recv_cq = a->cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
      .cap = {.max_send_wr = kMessages, .max_recv_wr = kMessages, .max_send_sge = 1, .max_recv_sge = 1}};
  a->qp = ibv_create_qp(a->pd, &init);
  MUST(a->qp != NULL);
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
  MUST(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  struct ibv_port_attr port;
  MUST(ibv_query_port(a->context, 1, &port) == 0);
  a->lid = port.lid;
  for (int i = 0; i < kMessages; ++i) {
    struct ibv_sge sge = {(uintptr_t)a->in + (size_t)i * kBytes, kBytes, a->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1}, *bad;
    MUST(ibv_post_recv(a->qp, &wr, &bad) == 0);
  }
}

static void connect_adapter(struct adapter* a, const struct end* peer) {
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qpn, .max_dest_rd_atomic = 1,
                             .min_rnr_timer = 12, .ah_attr = {.dlid = peer->lid, .port_num = 1}};
  MUST(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
  attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
  MUST(ibv_modify_qp(a->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                       IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

static char letter(int host, int adapter, int message) { return (char)('a' + (host * 5 + adapter * 11 + message) % 26); }

int main(int argc, char** argv) {
  const char* const server = argc > 1 ? argv[1] : NULL;
  const int own = server != NULL, far = !own;
  int count = 0;
  struct ibv_device** devices = ibv_get_device_list(&count);
  MUST(devices != NULL && count == kAdapters);
  char* const memory = chosen_memory(kAdapters * 2 * kBytes * kMessages);
  struct adapter adapters[kAdapters];
  for (int i = 0; i < kAdapters; ++i) {
    open_adapter(devices[i], &adapters[i], memory + (size_t)i * 2 * kBytes * kMessages);
    printf("%s: %s, lkey 0x%x, QP %u\n", own ? "client" : "server", ibv_get_device_name(devices[i]), adapters[i].mr->lkey,
           adapters[i].qp->qp_num);
  }
  const int fd = tcp_pair(server, kTcpPort);
  struct end mine[kAdapters], theirs[kAdapters];
  memset(mine, 0, sizeof mine);
  for (int i = 0; i < kAdapters; ++i) {
    mine[i] = (struct end){adapters[i].qp->qp_num, adapters[i].mr->rkey, (uintptr_t)adapters[i].in, adapters[i].lid};
  }
  tcp_write(fd, mine, sizeof mine);
  tcp_read(fd, theirs, sizeof theirs);
  for (int i = 0; i < kAdapters; ++i) connect_adapter(&adapters[i], &theirs[1 - i]);
  char ready = 1;
  tcp_write(fd, &ready, 1);
  tcp_read(fd, &ready, 1);

  const long begin = now();
  for (int m = 0; m < kMessages; ++m) {
    for (int i = 0; i < kAdapters; ++i) {
      char* const bytes = adapters[i].out + (size_t)m * kBytes;
      memset(bytes, letter(own, i, m), kBytes);
      struct ibv_sge sge = {(uintptr_t)bytes, kBytes - (uint32_t)m, adapters[i].mr->lkey};
      struct ibv_send_wr wr = {.wr_id = 1000 + (uint64_t)m, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
      MUST(ibv_post_send(adapters[i].qp, &wr, &bad) == 0);
    }
  }
  int left = 2 * kAdapters * kMessages;
  int received[kAdapters] = {0, 0};
  for (int i = 0; left > 0; i = 1 - i) {
    struct ibv_wc wc;
    const int n = ibv_poll_cq(adapters[i].cq, 1, &wc);
    MUST(n >= 0);
    if (n == 0) continue;
    --left;
    MUST(wc.status == IBV_WC_SUCCESS && wc.qp_num == adapters[i].qp->qp_num);
    if (wc.opcode != IBV_WC_RECV) continue;
    const int m = received[i]++;
    MUST(wc.wr_id == (uint64_t)m && wc.byte_len == (uint32_t)(kBytes - m));
    for (unsigned b = 0; b < wc.byte_len; ++b) MUST(adapters[i].in[(size_t)m * kBytes + b] == letter(far, 1 - i, m));
    printf("adapter %d: message %d after %ld ns\n", i, m, now() - begin);
  }
  tcp_write(fd, &ready, 1);
  tcp_read(fd, &ready, 1);

  // The key of the peer's other adapter has the same number as this one's, but belongs to other memory.
  struct ibv_sge sge = {(uintptr_t)adapters[0].out, 8, adapters[0].mr->lkey};
  struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
                           .wr.rdma = {.remote_addr = theirs[0].address, .rkey = theirs[1].rkey}}, *bad;
  MUST(ibv_post_send(adapters[0].qp, &wr, &bad) == 0);
  struct ibv_wc wc;
  while (ibv_poll_cq(adapters[0].cq, 1, &wc) == 0) {
  }
  printf("the other adapter's memory: %s\n", ibv_wc_status_str(wc.status));
  tcp_write(fd, &ready, 1);
  tcp_read(fd, &ready, 1);
  return 0;
}

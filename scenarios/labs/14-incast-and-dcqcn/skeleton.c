#include <time.h>

#include "lab.h"

enum {
  kSenders = 3,
  kChunks = 80,         // of each sender
  kChunk = 64 << 10,    // bytes
  kWindow = 40,         // chunks of a sender that are under way
  kTrafficClass = 0,    // of the senders: the DSCP, shifted by two bits: choose it
  kReadings = 8,        // times that the bystander measures its rate; half of them before the senders start
  kRound = 16,          // chunks that it writes each time
  kLeastShare = 80,     // percent of its rate in the quiet network that it must keep
};

// Memory of the server.
static unsigned char chunks_of_all[kSenders][kChunks][kChunk];

static struct ibv_pd* pd;
static struct ibv_cq* cq;

static int byte_of(int sender, int chunk) { return sender * kChunks + chunk + 1; }

static struct ibv_qp* create_qp(void) {
  struct ibv_qp_init_attr init = {
      .send_cq = cq,
      .recv_cq = cq,
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1,
      .cap = {.max_send_wr = kChunks, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* const qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  return qp;
}

// One end of a connection, as the other one must know it on Ethernet.
struct end {
  union ibv_gid gid;
  uint32_t qp_num, rkey;
  uint64_t address;
};

// Connects `qp` with the queue pair of the other program. `traffic_class`: of all packets that leave by it.
static void connect_qp(struct ibv_qp* qp, int tcp, struct end mine, int traffic_class, struct end* theirs) {
  enum { kGidIndex = 1 };  // RoCEv2 over IPv4
  MUST(ibv_query_gid(qp->context, 1, kGidIndex, &mine.gid) == 0);
  mine.qp_num = qp->qp_num;
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
  MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  lab_exchange(tcp, &mine, theirs, sizeof mine);
  attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                              .path_mtu = IBV_MTU_1024,
                              .dest_qp_num = theirs->qp_num,
                              .rq_psn = 1,
                              .max_dest_rd_atomic = 1,
                              .min_rnr_timer = 12,
                              .ah_attr = {.port_num = 1,
                                          .is_global = 1,
                                          .grh = {.dgid = theirs->gid,
                                                  .sgid_index = kGidIndex,
                                                  .hop_limit = 64,
                                                  .traffic_class = (uint8_t)traffic_class}}};
  MUST(ibv_modify_qp(qp, &attr,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                         IBV_QP_MIN_RNR_TIMER) == 0);
  attr = (struct ibv_qp_attr){
      .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .sq_psn = 1, .max_rd_atomic = 1};
  MUST(ibv_modify_qp(qp, &attr,
                     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                         IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

// Writes `count` chunks from `from` to the other end, `window` of them under way at a time.
static void write_chunks(struct ibv_qp* qp, const unsigned char* from, uint32_t lkey, const struct end* to, int count,
                         int window) {
  for (int posted = 0, written = 0; written < count;) {
    if (posted < count && posted - written < window) {
      struct ibv_sge piece = {(uintptr_t)from + (uint64_t)posted * kChunk, kChunk, lkey};
      struct ibv_send_wr write = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE}, *bad;
      write.wr.rdma.remote_addr = to->address + (uint64_t)posted * kChunk;
      write.wr.rdma.rkey = to->rkey;
      MUST(ibv_post_send(qp, &write, &bad) == 0);
      ++posted;
      continue;
    }
    struct ibv_wc wc;
    const int n = ibv_poll_cq(cq, 1, &wc);
    MUST(n >= 0);
    if (n == 0) continue;
    if (wc.status != IBV_WC_SUCCESS) {
      fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
      exit(1);
    }
    ++written;
  }
}

// ---- Those who receive: the server of the senders, and the peer of the bystander.

static void serve(void) {
  struct ibv_mr* const mr = ibv_reg_mr(pd, chunks_of_all, sizeof chunks_of_all, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  MUST(mr != NULL);
  struct ibv_qp* qps[kSenders];
  int tcp[kSenders];
  for (int i = 0; i < kSenders; ++i) {
    tcp[i] = lab_tcp(NULL);
    qps[i] = create_qp();
    struct end theirs;
    connect_qp(qps[i], tcp[i], (struct end){.address = (uintptr_t)chunks_of_all[i], .rkey = mr->rkey}, kTrafficClass, &theirs);
  }
  const int bystander = lab_tcp(NULL);
  lab_meet(bystander);  // it has measured the quiet network
  for (int i = 0; i < kSenders; ++i) lab_meet(tcp[i]);
  int wrong = 0;
  for (int i = 0; i < kSenders; ++i) {
    lab_meet(tcp[i]);  // all is written
    for (int k = 0; k < kChunks; ++k) {
      const unsigned char* const chunk = chunks_of_all[i][k];
      wrong += chunk[0] != (unsigned char)byte_of(i, k) || memcmp(chunk, chunk + 1, kChunk - 1) != 0;
    }
    close(tcp[i]);
    MUST(ibv_destroy_qp(qps[i]) == 0);
  }
  printf("%d chunks, %d wrong\n", kSenders * kChunks, wrong);
  close(bystander);
  MUST(ibv_dereg_mr(mr) == 0);
}

static void be_peer(void) {
  struct ibv_mr* const mr = ibv_reg_mr(pd, chunks_of_all, sizeof chunks_of_all, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  MUST(mr != NULL);
  const int tcp = lab_tcp(NULL);
  struct ibv_qp* const qp = create_qp();
  struct end theirs;
  connect_qp(qp, tcp, (struct end){.address = (uintptr_t)chunks_of_all, .rkey = mr->rkey}, 0, &theirs);
  lab_meet(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_dereg_mr(mr) == 0);
}

// ---- A sender.

static void send_all(const char* server, int number) {
  static unsigned char chunks[kChunks][kChunk];
  for (int i = 0; i < kChunks; ++i) memset(chunks[i], byte_of(number, i), kChunk);
  struct ibv_mr* const mr = ibv_reg_mr(pd, chunks, sizeof chunks, 0);
  MUST(mr != NULL);
  struct ibv_qp* const qp = create_qp();
  const int tcp = lab_tcp(server);
  struct end theirs;
  connect_qp(qp, tcp, (struct end){.address = 0}, kTrafficClass, &theirs);
  lab_meet(tcp);
  write_chunks(qp, chunks[0], mr->lkey, &theirs, kChunks, kWindow);
  lab_meet(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_dereg_mr(mr) == 0);
}

// ---- The bystander, which has nothing to do with the server: its rate in a quiet network, and while the senders send.

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void stand_by(const char* peer, const char* server) {
  static unsigned char chunks[kRound][kChunk];
  struct ibv_mr* const mr = ibv_reg_mr(pd, chunks, sizeof chunks, 0);
  MUST(mr != NULL);
  struct ibv_qp* const qp = create_qp();
  const int tcp = lab_tcp(peer), start = lab_tcp(server);
  struct end theirs;
  connect_qp(qp, tcp, (struct end){.address = 0}, 0, &theirs);
  double sum[2] = {0, 0};  // Gb/s: quiet, busy
  for (int i = 0; i < kReadings; ++i) {
    const int is_busy = i >= kReadings / 2;
    if (i == kReadings / 2) lab_meet(start);
    const double begin = now_us();
    write_chunks(qp, chunks[0], mr->lkey, &theirs, kRound, 4);
    sum[is_busy] += kRound * kChunk * 8 / (now_us() - begin) / 1e3;
  }
  const double quiet = sum[0] / (kReadings / 2), busy = sum[1] / (kReadings / 2);
  printf("quiet: %.1f Gb/s, busy: %.1f Gb/s\n", quiet, busy);
  printf("%s\n", busy * 100 >= quiet * kLeastShare ? "undisturbed" : "disturbed");
  lab_meet(tcp);
  close(tcp);
  close(start);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_dereg_mr(mr) == 0);
}

// `lab` is the server, `lab SERVER 0` to `lab SERVER 2` are the senders, `lab peer` is the bystander's peer, and
// `lab bystander PEER SERVER` is the bystander.
int main(int count, char** arguments) {
  struct ibv_device** const devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  struct ibv_context* const context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  ibv_free_device_list(devices);
  pd = ibv_alloc_pd(context);
  cq = ibv_create_cq(context, kSenders * kChunks, NULL, NULL, 0);
  MUST(pd != NULL && cq != NULL);
  if (count == 1) {
    serve();
  } else if (count == 2) {
    be_peer();
  } else if (count == 3) {
    send_all(arguments[1], atoi(arguments[2]));
  } else {
    stand_by(arguments[2], arguments[3]);
  }
  MUST(ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}

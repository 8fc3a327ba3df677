#include "lab.h"

enum {
  kChunks = 40,       // of each sender
  kChunk = 64 << 10,  // bytes
  kGid = 1,           // of RoCE v2 with an IPv4 address
};

static struct ibv_pd* pd;
static struct ibv_cq* cq;
static unsigned char chunks[kChunks][kChunk];

static int byte_of(int sender, int chunk) { return sender * kChunks + chunk + 1; }

// The traffic class of the packets that host `sender` sends, and of their answers. Its upper six bits are the DSCP, and a switch
// makes the priority of it: DSCP / 8.
static uint8_t traffic_class_of(int sender) {
  // Packets of senders 3 and 4 pass the cable from s4 to s0, those of the others do not.
  const uint8_t second_priority = 8 << 2;
  return sender >= 3 ? second_priority : 0;
}

// Facts about one end of a connection, as struct lab_end has them, with what RoCE needs.
struct end {
  union ibv_gid gid;
  uint64_t address;
  uint32_t qp_num, rkey;
  int sender;  // its number; -1: it receives
};

static struct ibv_qp* create_qp(void) {
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .qp_type = IBV_QPT_RC,
                                  .sq_sig_all = 1,
                                  .cap = {.max_send_wr = kChunks, .max_recv_wr = kChunks, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* const qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  return qp;
}

// INIT, RTR, RTS.
static struct end connect_qp(struct ibv_qp* qp, int tcp, struct end mine) {
  struct end theirs;
  mine.qp_num = qp->qp_num;
  MUST(ibv_query_gid(qp->context, 1, kGid, &mine.gid) == 0);
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
  MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
  lab_exchange(tcp, &mine, &theirs, sizeof mine);
  const int sender = mine.sender >= 0 ? mine.sender : theirs.sender;
  attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                              .path_mtu = IBV_MTU_1024,
                              .dest_qp_num = theirs.qp_num,
                              .max_dest_rd_atomic = 1,
                              .min_rnr_timer = 12,
                              .ah_attr = {.is_global = 1,
                                          .port_num = 1,
                                          .grh = {.dgid = theirs.gid,
                                                  .sgid_index = kGid,
                                                  .hop_limit = 64,
                                                  .traffic_class = traffic_class_of(sender)}}};
  MUST(ibv_modify_qp(qp, &attr,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                         IBV_QP_MIN_RNR_TIMER) == 0);
  attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
  MUST(ibv_modify_qp(qp, &attr,
                     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                         IBV_QP_MAX_QP_RD_ATOMIC) == 0);
  return theirs;
}

static void wait_for_one(void) {
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) continue;
  MUST(n == 1);
  if (wc.status == IBV_WC_SUCCESS) return;
  fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
  exit(1);
}

static void receive_chunks(struct ibv_mr* mr) {
  const int tcp = lab_tcp(NULL);
  struct ibv_qp* const qp = create_qp();
  const struct end theirs = connect_qp(qp, tcp, (struct end){.address = (uintptr_t)chunks, .rkey = mr->rkey, .sender = -1});
  for (int i = 0; i < kChunks; ++i) {
    struct ibv_recv_wr receive = {.wr_id = 0}, *bad;
    MUST(ibv_post_recv(qp, &receive, &bad) == 0);
  }
  lab_meet(tcp);
  for (int i = 0; i < kChunks; ++i) wait_for_one();
  int wrong = 0;
  for (int i = 0; i < kChunks; ++i)
    wrong += chunks[i][0] != byte_of(theirs.sender, i) || memcmp(chunks[i], chunks[i] + 1, kChunk - 1) != 0;
  printf("%d chunks, %d wrong\n", kChunks, wrong);
  lab_meet(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0);
}

static void send_chunks(struct ibv_mr* mr, const char* receiver, int number) {
  for (int i = 0; i < kChunks; ++i) memset(chunks[i], byte_of(number, i), kChunk);
  const int tcp = lab_tcp(receiver);
  struct ibv_qp* const qp = create_qp();
  const struct end theirs = connect_qp(qp, tcp, (struct end){.sender = number});
  lab_meet(tcp);
  for (int i = 0; i < kChunks; ++i) {
    struct ibv_sge from = {(uintptr_t)chunks[i], kChunk, mr->lkey};
    struct ibv_send_wr write = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM}, *bad;
    write.wr.rdma.remote_addr = theirs.address + (uint64_t)i * kChunk;
    write.wr.rdma.rkey = theirs.rkey;
    MUST(ibv_post_send(qp, &write, &bad) == 0);
  }
  for (int i = 0; i < kChunks; ++i) wait_for_one();
  lab_meet(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0);
}

// `lab` receives, `lab RECEIVER NUMBER` sends.
int main(int count, char** arguments) {
  struct ibv_device** const devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  struct ibv_context* const context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  ibv_free_device_list(devices);
  pd = ibv_alloc_pd(context);
  cq = ibv_create_cq(context, 2 * kChunks, NULL, NULL, 0);
  MUST(pd != NULL && cq != NULL);
  struct ibv_mr* const mr = ibv_reg_mr(pd, chunks, sizeof chunks, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  MUST(mr != NULL);
  if (count < 3) {
    receive_chunks(mr);
  } else {
    send_chunks(mr, arguments[1], atoi(arguments[2]));
  }
  MUST(ibv_dereg_mr(mr) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}

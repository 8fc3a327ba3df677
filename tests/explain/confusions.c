// One common mistake per CASE: `confusions CASE` on the server, `confusions CASE server` on the client. The client's request
// fails, and the client prints the status and exits with 1; the server waits and exits with 0. In some cases nothing fails and
// both wait for ever. With any other CASE the program is correct.
#include <endian.h>

#include "tests/equality/rc_pair.h"

enum { kPort = 18700, kBytes = 4096, kLong = 1 << 20 };

static const char* which;
static const char* server;
static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_cq* cq;
static struct ibv_qp* qp;
static struct ibv_mr* mr;
static uint8_t* memory;
static struct rc_address mine, theirs;
static int tcp;

static int is(const char* name) { return strcmp(which, name) == 0; }

static void meet(void) {
  char byte = 0;
  tcp_write(tcp, &byte, 1);
  tcp_read(tcp, &byte, 1);
}

static void change(struct ibv_qp_attr* attr, int mask) {
  const int error = ibv_modify_qp(qp, attr, mask);
  if (error == 0) return;
  printf("ibv_modify_qp: %s\n", strerror(error));
  exit(1);
}

static void expect_done(int error) {
  if (error == 0) return;
  printf("ibv_dealloc_pd: %s\n", strerror(error));
  exit(1);
}

static void to_init(void) {
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  init.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  if (!is("qp-access")) init.qp_access_flags |= IBV_ACCESS_REMOTE_WRITE;
  change(&init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static void to_rts(void) {
  struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = theirs.qpn};
  if (is("mtu") && server == NULL) rtr.path_mtu = IBV_MTU_512;
  if (is("mtu-above-port")) rtr.path_mtu = IBV_MTU_4096;
  if (is("wrong-qpn") && server != NULL) rtr.dest_qp_num = theirs.qpn + 5;
  if (is("qpn-order") && server != NULL) rtr.dest_qp_num = htonl(theirs.qpn);
  rtr.rq_psn = is("wrong-psn") && server == NULL ? 0x777 : theirs.psn;
  rtr.max_dest_rd_atomic = 1;
  rtr.min_rnr_timer = 1;
  rtr.ah_attr.dlid = (uint16_t)theirs.lid;
  if (is("lid-order") && server != NULL) rtr.ah_attr.dlid = htons(rtr.ah_attr.dlid);
  rtr.ah_attr.port_num = 1;
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC;
  if (!is("missing-bit") || server == NULL) mask |= IBV_QP_MIN_RNR_TIMER;
  change(&rtr, mask);
  if (is("no-rts") && server != NULL) return;
  struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .sq_psn = mine.psn, .timeout = 8, .retry_cnt = 2, .rnr_retry = 2};
  rts.max_rd_atomic = 1;
  if (is("never-ready")) rts.timeout = 0;
  if (is("never-received")) rts.rnr_retry = 7;
  change(&rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void receive(uint64_t wr_id, uint32_t length) {
  struct ibv_sge sge = {.addr = (uintptr_t)memory, .length = length, .lkey = mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;
  MUST(ibv_post_recv(qp, &wr, &bad) == 0);
}

static void send_request(void) {
  struct ibv_sge sge = {.addr = (uintptr_t)memory, .length = 2048, .lkey = mr->lkey};
  struct ibv_send_wr wr = {.wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  wr.send_flags = is("unsignaled") ? 0 : IBV_SEND_SIGNALED;
  if (is("rkey-order") || is("no-access") || is("out-of-range") || is("qp-access") || is("address-order")) wr.opcode = IBV_WR_RDMA_WRITE;
  wr.wr.rdma.remote_addr = theirs.address + (is("out-of-range") ? kLong : 0);
  if (is("address-order")) wr.wr.rdma.remote_addr = htobe64(theirs.address);
  wr.wr.rdma.rkey = is("rkey-order") ? htonl(theirs.rkey) : theirs.rkey;
  if (is("lkey")) sge.lkey = theirs.rkey ^ 0x5500;
  for (int i = is("unsignaled") ? 0 : is("small-cq") ? 2 : 8; i < 9; ++i) {
    const int error = ibv_post_send(qp, &wr, &bad);
    if (error == 0) continue;
    printf("ibv_post_send: %s\n", strerror(error));
    exit(1);
  }
  if (is("small-cq")) usleep(1000);
  struct ibv_wc wc;
  while (ibv_poll_cq(cq, 1, &wc) == 0) {
  }
  printf("wr_id %d: %s\n", (int)wc.wr_id, ibv_wc_status_str(wc.status));
  if (wc.status != IBV_WC_SUCCESS) exit(1);
}

int main(int argc, char** argv) {
  MUST(argc >= 2);
  which = argv[1];
  server = argc > 2 ? argv[2] : NULL;
  tcp = tcp_pair(server, kPort);
  context = open_first_device();
  pd = ibv_alloc_pd(context);
  struct ibv_comp_channel* const channel = is("unacknowledged") ? ibv_create_comp_channel(context) : NULL;
  cq = ibv_create_cq(context, is("small-cq") ? 4 : 16, NULL, channel, 0);
  memory = chosen_memory(kLong);
  int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
  if (is("no-local-write") && server == NULL) access &= ~IBV_ACCESS_LOCAL_WRITE;
  if (!is("no-access") && (access & IBV_ACCESS_LOCAL_WRITE) != 0) access |= IBV_ACCESS_REMOTE_WRITE;
  mr = ibv_reg_mr(pd, memory, kLong, access);
  struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = init.cap.max_recv_wr = 8;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  qp = ibv_create_qp(pd, &init);
  MUST(pd != NULL && cq != NULL && mr != NULL && qp != NULL);
  mine = (struct rc_address){.lid = port_lid(context), .qpn = qp->qp_num, .psn = 100, .rkey = mr->rkey};
  mine.address = (uintptr_t)memory;
  rc_exchange(tcp, &mine, &theirs);
  to_init();
  // The server becomes ready too late.
  if (is("not-ready") && server == NULL) usleep(50000);
  if (is("never-ready") && server == NULL) meet(), meet();
  if (is("unacknowledged") && server != NULL) MUST(ibv_req_notify_cq(cq, 0) == 0);
  to_rts();
  const int receives = is("no-receive") || is("never-received") ? 0 : is("small-cq") ? 7 : 1;
  for (int i = 0; i < receives && server == NULL; ++i) receive(1, is("short-receive") ? 100 : kBytes);
  if (!is("not-ready")) meet();
  if (is("gone") && server == NULL) return 0;
  if (is("gone")) usleep(1000);
  if (server != NULL) send_request();
  if (is("unacknowledged") && server != NULL) {
    void* of_cq;
    MUST(ibv_get_cq_event(channel, &cq, &of_cq) == 0);
    ibv_destroy_qp(qp);
    ibv_destroy_cq(cq);
  }
  if (is("busy")) expect_done(ibv_dealloc_pd(pd));
  if (is("never-received")) meet();
  if (server == NULL && is("no-receive")) usleep(100), receive(1, kBytes);
  usleep(60000);
  return 0;
}

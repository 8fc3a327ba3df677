#include "lab.h"

enum { kNumbers = 16 };

// The facts about the server's memory that the client needs.
struct region {
  uint64_t address;
  uint32_t rkey;
};
struct regions {
  struct region table, squares;
};

static struct ibv_qp* qp;

static struct ibv_wc wait_for_one(void) {
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(qp->send_cq, 1, &wc)) == 0) continue;
  MUST(n == 1);
  return wc;
}

static void must_succeed(struct ibv_wc wc) {
  if (wc.status == IBV_WC_SUCCESS) return;
  fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
  exit(1);
}

static void serve(int tcp) {
  static uint64_t table[kNumbers], squares[kNumbers];
  for (int i = 0; i < kNumbers; ++i) table[i] = 3 * (uint64_t)i + 1;
  struct ibv_mr* const readable = ibv_reg_mr(qp->pd, table, sizeof table, IBV_ACCESS_REMOTE_READ);
  struct ibv_mr* const writable =
      ibv_reg_mr(qp->pd, squares, sizeof squares, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  MUST(readable != NULL && writable != NULL);
  // The immediate data uses a receive, which needs no buffer.
  struct ibv_recv_wr receive = {0}, *bad;
  MUST(ibv_post_recv(qp, &receive, &bad) == 0);
  const struct regions mine = {{(uintptr_t)table, readable->rkey}, {(uintptr_t)squares, writable->rkey}};
  struct regions unused;
  lab_exchange(tcp, &mine, &unused, sizeof mine);

  const struct ibv_wc wc = wait_for_one();
  must_succeed(wc);
  MUST(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && ntohl(wc.imm_data) == kNumbers);
  int right = 1;
  for (int i = 0; i < kNumbers; ++i) right = right && squares[i] == table[i] * table[i];
  printf("the squares are %s\n", right ? "right" : "wrong");
  lab_meet(tcp);
  lab_meet(tcp);
  MUST(ibv_dereg_mr(readable) == 0 && ibv_dereg_mr(writable) == 0);
}

static void call(int tcp) {
  static uint64_t numbers[kNumbers];
  struct ibv_mr* const mr = ibv_reg_mr(qp->pd, numbers, sizeof numbers, IBV_ACCESS_LOCAL_WRITE);
  MUST(mr != NULL);
  struct regions theirs;
  const struct regions unused = {{0, 0}, {0, 0}};
  lab_exchange(tcp, &unused, &theirs, sizeof theirs);
  struct ibv_sge here = {(uintptr_t)numbers, sizeof numbers, mr->lkey};

  struct ibv_send_wr read = {.sg_list = &here, .num_sge = 1, .opcode = IBV_WR_RDMA_READ}, *bad;
  read.wr.rdma.remote_addr = theirs.table.address;
  read.wr.rdma.rkey = theirs.table.rkey;
  MUST(ibv_post_send(qp, &read, &bad) == 0);
  must_succeed(wait_for_one());
  printf("has read %d numbers\n", kNumbers);

  for (int i = 0; i < kNumbers; ++i) numbers[i] *= numbers[i];
  struct ibv_send_wr write = {
      .sg_list = &here, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htonl(kNumbers)};
  write.wr.rdma.remote_addr = theirs.squares.address;
  write.wr.rdma.rkey = theirs.squares.rkey;
  MUST(ibv_post_send(qp, &write, &bad) == 0);
  must_succeed(wait_for_one());
  lab_meet(tcp);

  // This must fail.
  struct ibv_send_wr wrong = {.sg_list = &here, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
  wrong.wr.rdma.remote_addr = theirs.table.address;
  wrong.wr.rdma.rkey = theirs.table.rkey;
  MUST(ibv_post_send(qp, &wrong, &bad) == 0);
  printf("%s\n", wait_for_one().status == IBV_WC_REM_ACCESS_ERR ? "the table is protected" : "the table was overwritten");
  lab_meet(tcp);
  MUST(ibv_dereg_mr(mr) == 0);
}

int main(int count, char** arguments) {
  const char* const server = count > 1 ? arguments[1] : NULL;
  struct ibv_device** const devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  struct ibv_context* const context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  ibv_free_device_list(devices);
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_cq* const cq = ibv_create_cq(context, 8, NULL, NULL, 0);
  MUST(pd != NULL && cq != NULL);
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .qp_type = IBV_QPT_RC,
                                  .sq_sig_all = 1,
                                  .cap = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1}};
  qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  const int tcp = lab_tcp(server);
  struct lab_end theirs;
  lab_connect(qp, tcp, (struct lab_end){.psn = 5}, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE, &theirs);
  server == NULL ? serve(tcp) : call(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0);
  MUST(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}

#include "lab.h"

enum { kRecords = 40, kLength = 256 };

struct record {
  unsigned char bytes[kLength];
};

// Memory of the server.
struct shared {
  struct record from[kRecords], to[kRecords];
};

static struct ibv_qp *data, *control;  // two connections to the same peer
static struct ibv_cq* cq;              // of both
static struct lab_end peer;

// A record that is marked as taken has zeros only.
static int is_record(const struct record* record, int number) {
  for (int i = 0; i < kLength; ++i) {
    if (record->bytes[i] != (unsigned char)(number * 5 + i + 1)) return 0;
  }
  return 1;
}

static void wait_for_one(struct ibv_wc* wc) {
  int n;
  while ((n = ibv_poll_cq(cq, 1, wc)) == 0) continue;
  MUST(n == 1);
  if (wc->status == IBV_WC_SUCCESS) return;
  fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc->status));
  exit(1);
}

static void serve(int tcp, struct shared* shared) {
  for (int i = 0; i < kRecords; ++i) {
    for (int k = 0; k < kLength; ++k) shared->from[i].bytes[k] = (unsigned char)(i * 5 + k + 1);
    struct ibv_recv_wr receive = {.wr_id = 0}, *bad;
    MUST(ibv_post_recv(data, &receive, &bad) == 0 && ibv_post_recv(control, &receive, &bad) == 0);
  }
  lab_meet(tcp);
  int early = 0, wrong = 0;
  for (int i = 0; i < kRecords; ++i) {
    struct ibv_wc wc;
    wait_for_one(&wc);
    const unsigned number = ntohl(wc.imm_data);
    MUST(number < kRecords);
    early += !is_record(&shared->to[number], (int)number);
  }
  lab_meet(tcp);
  // All requests are done here, whenever the notifications came.
  for (int i = 0; i < kRecords; ++i) wrong += !is_record(&shared->to[i], i) || shared->from[i].bytes[0] != 0;
  printf("%d records, %d wrong\n%d notified too early\n", kRecords, wrong, early);
}

static void post(struct ibv_qp* qp, struct ibv_send_wr request, void* here, const struct ibv_mr* mr, const void* there) {
  struct ibv_sge piece = {(uintptr_t)here, kLength, mr == NULL ? 0 : mr->lkey};
  struct ibv_send_wr* bad;
  request.sg_list = &piece;
  request.num_sge = here != NULL;
  request.wr.rdma.remote_addr = (uintptr_t)there;
  request.wr.rdma.rkey = peer.rkey;
  MUST(ibv_post_send(qp, &request, &bad) == 0);
}

// Notifies the server on this queue pair that a record is there.
static void tell(struct ibv_qp* qp, int number) {
  post(qp, (struct ibv_send_wr){.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htonl((uint32_t)number)}, NULL, NULL, NULL);
}

static void call(int tcp, struct ibv_pd* pd) {
  static struct record copies[kRecords], mark;
  struct ibv_mr* const mr = ibv_reg_mr(pd, copies, sizeof copies, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_mr* const mark_mr = ibv_reg_mr(pd, &mark, sizeof mark, 0);
  MUST(mr != NULL && mark_mr != NULL);
  const struct shared* const there = (const struct shared*)(uintptr_t)peer.address;
  lab_meet(tcp);
  int posted = 0, done = 0;
  struct ibv_wc wc;
  for (int i = 0; i < kRecords; ++i) {
    post(data, (struct ibv_send_wr){.opcode = IBV_WR_RDMA_READ}, &copies[i], mr, &there->from[i]);
    // This request and all later ones of this queue wait for the READ.
    post(data, (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_FENCE}, &mark, mark_mr, &there->from[i]);
    post(data, (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE}, &copies[i], mr, &there->to[i]);
    // After the WRITE, in the same queue.
    tell(data, i);
    posted += 4;
  }
  for (; done < posted; ++done) wait_for_one(&wc);
  printf("all are acknowledged\n");
  lab_meet(tcp);
  MUST(ibv_dereg_mr(mr) == 0 && ibv_dereg_mr(mark_mr) == 0);
}

static struct ibv_qp* connect_one(struct ibv_pd* pd, int tcp, struct ibv_mr* mr, struct lab_end* theirs) {
  struct ibv_qp_init_attr init = {
      .send_cq = cq,
      .recv_cq = cq,
      .qp_type = IBV_QPT_RC,
      .sq_sig_all = 1,
      .cap = {.max_send_wr = 4 * kRecords, .max_recv_wr = kRecords, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* const qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  lab_connect(qp, tcp, (struct lab_end){.psn = 5, .address = (uintptr_t)mr->addr, .rkey = mr->rkey},
              IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE, theirs);
  return qp;
}

int main(int count, char** arguments) {
  const char* const server = count > 1 ? arguments[1] : NULL;
  struct ibv_device** const devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  struct ibv_context* const context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  ibv_free_device_list(devices);
  static struct shared shared;
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_mr* const mr = ibv_reg_mr(pd, &shared, sizeof shared,
                                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
  cq = ibv_create_cq(context, 8 * kRecords, NULL, NULL, 0);
  MUST(pd != NULL && mr != NULL && cq != NULL);
  const int tcp = lab_tcp(server);
  data = connect_one(pd, tcp, mr, &peer);
  control = connect_one(pd, tcp, mr, &peer);
  server == NULL ? serve(tcp, &shared) : call(tcp, pd);
  close(tcp);
  MUST(ibv_destroy_qp(data) == 0 && ibv_destroy_qp(control) == 0 && ibv_destroy_cq(cq) == 0);
  MUST(ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}

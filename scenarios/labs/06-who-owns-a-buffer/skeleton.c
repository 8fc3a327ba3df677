#include "lab.h"

enum { kRecords = 100, kLength = 512, kRing = 16, kSignaled = 4 };

static struct ibv_qp* qp;

static void make_record(unsigned char* record, int number) {
  for (int i = 0; i < kLength; ++i) record[i] = (unsigned char)(number * 7 + i);
}

static int is_record(const unsigned char* record, int number) {
  unsigned char wanted[kLength];
  make_record(wanted, number);
  return memcmp(record, wanted, kLength) == 0;
}

static void wait_for_one(void) {
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(qp->send_cq, 1, &wc)) == 0) continue;
  MUST(n == 1);
  if (wc.status == IBV_WC_SUCCESS) return;
  fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
  exit(1);
}

static void serve(int tcp) {
  static unsigned char records[kRecords][kLength];
  struct ibv_mr* const mr = ibv_reg_mr(qp->pd, records, sizeof records, IBV_ACCESS_LOCAL_WRITE);
  MUST(mr != NULL);
  for (int i = 0; i < kRecords; ++i) {
    struct ibv_sge to = {(uintptr_t)records[i], kLength, mr->lkey};
    struct ibv_recv_wr receive = {.sg_list = &to, .num_sge = 1}, *bad;
    MUST(ibv_post_recv(qp, &receive, &bad) == 0);
  }
  lab_meet(tcp);
  int wrong = 0;
  for (int i = 0; i < kRecords; ++i) {
    wait_for_one();
    wrong += !is_record(records[i], i);
  }
  printf("%d records, %d wrong\n", kRecords, wrong);
  lab_meet(tcp);
  MUST(ibv_dereg_mr(mr) == 0);
}

static void call(int tcp) {
  static unsigned char ring[kRing][kLength];
  struct ibv_mr* const mr = ibv_reg_mr(qp->pd, ring, sizeof ring, 0);
  MUST(mr != NULL);
  lab_meet(tcp);
  int done = 0;  // requests that are known to have completed
  for (int i = 0; i < kRecords; ++i) {
    // Your part: use a buffer of the ring whose request has completed. Here nobody makes sure of that.
    unsigned char* const record = ring[0];
    make_record(record, i);
    struct ibv_sge from = {(uintptr_t)record, kLength, mr->lkey};
    struct ibv_send_wr send = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
    // Your part: not every request needs a completion.
    send.send_flags = IBV_SEND_SIGNALED;
    for (; i - done >= kRing; ++done) wait_for_one();
    MUST(ibv_post_send(qp, &send, &bad) == 0);
  }
  for (; done < kRecords; ++done) wait_for_one();
  printf("all are acknowledged\n");
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
  struct ibv_cq* const cq = ibv_create_cq(context, kRecords, NULL, NULL, 0);
  MUST(pd != NULL && cq != NULL);
  struct ibv_qp_init_attr init = {
      .send_cq = cq,
      .recv_cq = cq,
      .qp_type = IBV_QPT_RC,
      .cap = {.max_send_wr = kRing, .max_recv_wr = kRecords, .max_send_sge = 1, .max_recv_sge = 1}};
  qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  const int tcp = lab_tcp(server);
  struct lab_end theirs;
  lab_connect(qp, tcp, (struct lab_end){.psn = 9}, 0, &theirs);
  server == NULL ? serve(tcp) : call(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0);
  MUST(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}

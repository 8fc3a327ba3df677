#include <stddef.h>

#include "lab.h"

enum { kClients = 2, kCounts = 100 };

// Memory of the server.
struct shared {
  uint64_t lock, counter;
};

static struct ibv_qp* connect_one(struct ibv_pd* pd, struct ibv_cq* cq, int tcp, struct lab_end mine, struct lab_end* theirs) {
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .qp_type = IBV_QPT_RC,
                                  .sq_sig_all = 1,
                                  .cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* const qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  lab_connect(qp, tcp, mine, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC, theirs);
  return qp;
}

static void serve(struct ibv_pd* pd, struct ibv_cq* cq) {
  static struct shared shared;
  struct ibv_mr* const mr =
      ibv_reg_mr(pd, &shared, sizeof shared,
                 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
  MUST(mr != NULL);
  struct ibv_qp* qps[kClients];
  int tcp[kClients];
  for (int i = 0; i < kClients; ++i) {
    tcp[i] = lab_tcp(NULL);
    struct lab_end theirs;
    qps[i] = connect_one(pd, cq, tcp[i], (struct lab_end){.psn = 1, .address = (uintptr_t)&shared, .rkey = mr->rkey}, &theirs);
  }
  for (int i = 0; i < kClients; ++i) lab_meet(tcp[i]);  // both start
  for (int i = 0; i < kClients; ++i) lab_meet(tcp[i]);  // both have finished
  printf("counted to %llu\n", (unsigned long long)shared.counter);
  for (int i = 0; i < kClients; ++i) {
    close(tcp[i]);
    MUST(ibv_destroy_qp(qps[i]) == 0);
  }
  MUST(ibv_dereg_mr(mr) == 0);
}

static struct ibv_qp* qp;
static struct lab_end server_end;
static struct ibv_mr* here;
static uint64_t value;  // buffer of each request

static void carry_out(struct ibv_send_wr request) {
  struct ibv_sge piece = {(uintptr_t)&value, sizeof value, here->lkey};
  struct ibv_send_wr* bad;
  request.sg_list = &piece;
  request.num_sge = 1;
  MUST(ibv_post_send(qp, &request, &bad) == 0);
  struct ibv_wc wc;
  int n;
  while ((n = ibv_poll_cq(qp->send_cq, 1, &wc)) == 0) continue;
  MUST(n == 1);
  if (wc.status == IBV_WC_SUCCESS) return;
  fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
  exit(1);
}

// Stores `to` in the lock if its value is `from`. Returns the old value.
static uint64_t swap_lock(uint64_t from, uint64_t to) {
  // Your part.
  (void)from, (void)to;
  return value;
}

static void count_one(uint64_t client) {
  // Your part: take the lock.
  (void)client, (void)swap_lock;
  struct ibv_send_wr access = {.opcode = IBV_WR_RDMA_READ};
  access.wr.rdma.remote_addr = server_end.address + offsetof(struct shared, counter);
  access.wr.rdma.rkey = server_end.rkey;
  carry_out(access);
  ++value;
  access.opcode = IBV_WR_RDMA_WRITE;
  carry_out(access);
  // Your part: release the lock.
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
  if (server == NULL) {
    serve(pd, cq);
  } else {
    here = ibv_reg_mr(pd, &value, sizeof value, IBV_ACCESS_LOCAL_WRITE);
    MUST(here != NULL && count > 2);
    const int tcp = lab_tcp(server);
    qp = connect_one(pd, cq, tcp, (struct lab_end){.psn = 1}, &server_end);
    lab_meet(tcp);
    for (int i = 0; i < kCounts; ++i) count_one((uint64_t)atoi(arguments[2]));
    lab_meet(tcp);
    close(tcp);
    MUST(ibv_destroy_qp(qp) == 0 && ibv_dereg_mr(here) == 0);
  }
  MUST(ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}

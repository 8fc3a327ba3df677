#include <time.h>

#include "lab.h"

enum { kMessages = 20, kLength = 64 };

// The usual values.
enum { kTimeout = 14, kRetries = 7 };

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void call(struct ibv_qp* qp, struct ibv_mr* mr, char* text, struct lab_end theirs) {
  for (int i = 0; i < kMessages; ++i) {
    snprintf(text, kLength, "message %d", i);
    struct ibv_sge from = {(uintptr_t)text, kLength, mr->lkey};
    struct ibv_send_wr write = {.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE}, *bad;
    write.wr.rdma.remote_addr = theirs.address;
    write.wr.rdma.rkey = theirs.rkey;
    const double posted = now_ms();
    MUST(ibv_post_send(qp, &write, &bad) == 0);
    struct ibv_wc wc;
    int n;
    while ((n = ibv_poll_cq(qp->send_cq, 1, &wc)) == 0) continue;
    MUST(n == 1);
    if (wc.status != IBV_WC_SUCCESS) {
      printf("%s after %.3f ms\n", ibv_wc_status_str(wc.status), now_ms() - posted);
      printf("gave up %s\n", now_ms() - posted < 25 ? "in time" : "too late");
      return;
    }
    const struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
  }
  printf("%d messages are there\n", kMessages);
}

int main(int count, char** arguments) {
  const char* const server = count > 1 ? arguments[1] : NULL;
  struct ibv_device** const devices = ibv_get_device_list(NULL);
  MUST(devices != NULL && devices[0] != NULL);
  struct ibv_context* const context = ibv_open_device(devices[0]);
  MUST(context != NULL);
  ibv_free_device_list(devices);
  static char text[kLength];
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_mr* const mr = ibv_reg_mr(pd, text, sizeof text, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  struct ibv_cq* const cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  MUST(pd != NULL && mr != NULL && cq != NULL);
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .qp_type = IBV_QPT_RC,
                                  .sq_sig_all = 1,
                                  .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* const qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  const int tcp = lab_tcp(server);
  struct lab_end theirs;
  lab_connect_with(qp, tcp, (struct lab_end){.psn = 3, .address = (uintptr_t)text, .rkey = mr->rkey}, IBV_ACCESS_REMOTE_WRITE,
                   &theirs, kTimeout, kRetries);
  lab_meet(tcp);
  if (server != NULL) call(qp, mr, text, theirs);
  lab_meet(tcp);
  close(tcp);
  MUST(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dereg_mr(mr) == 0);
  MUST(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
  return 0;
}

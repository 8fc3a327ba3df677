// A server posts receives while its queue pair fails: a message that is too long for them arrives at another moment in each
// round. After the failure the adapter requests a doorbell for each receive. Posted receives are flushed, each exactly once.
#include <time.h>

#include "tests/equality/rc_pair.h"

enum { kPort = 18700, kRounds = 48, kSlots = 256, kBytes = 64, kTooLong = 128 };

static struct ibv_qp* make_qp(struct ibv_pd* pd, struct ibv_cq* cq) {
  struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1};
  init.cap.max_send_wr = 16;
  init.cap.max_recv_wr = kSlots;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  struct ibv_qp* qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  return qp;
}

static struct ibv_sge piece(const struct ibv_mr* mr, uint32_t length) {
  return (struct ibv_sge){.addr = (uintptr_t)mr->addr, .length = length, .lkey = mr->lkey};
}

// How many completions there were, and whether one of them was no success.
static int poll_some(struct ibv_cq* cq, int* has_failed) {
  struct ibv_wc wc;
  int seen = 0;
  while (ibv_poll_cq(cq, 1, &wc) == 1) {
    ++seen;
    *has_failed |= wc.status != IBV_WC_SUCCESS;
  }
  return seen;
}

static void serve(struct ibv_qp* qp, struct ibv_cq* cq, const struct ibv_mr* mr, int tcp, int round) {
  struct ibv_sge sge = piece(mr, kBytes);
  struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
  int posted = 0, done = 0, has_failed = 0, after = 0;
  for (; posted < 4; ++posted) MUST(ibv_post_recv(qp, &wr, &bad) == 0);
  char byte = 0;
  tcp_write(tcp, &byte, 1);
  // Every other round without pauses, so that polls and posts occur in different orders.
  while (after < 3) {
    if (posted < kSlots && posted - done < kSlots / 2) {
      MUST(ibv_post_recv(qp, &wr, &bad) == 0);
      ++posted;
    }
    if (round % 2 == 0 || posted % 4 == 0 || posted == kSlots || posted - done == kSlots / 2) done += poll_some(cq, &has_failed);
    if (has_failed) ++after;
  }
  while (done < posted) done += poll_some(cq, &has_failed);
  MUST(done == posted);
  printf("round %d: %d posted\n", round, posted);
}

static void attack(struct ibv_qp* qp, struct ibv_cq* cq, const struct ibv_mr* mr, int tcp, int round) {
  char byte;
  tcp_read(tcp, &byte, 1);
  const struct timespec moment = {.tv_nsec = 1000 + 37 * round};
  nanosleep(&moment, NULL);
  int done = 0, has_failed = 0;
  for (int i = 0; i < 3; ++i) {
    struct ibv_sge sge = piece(mr, i == 2 ? kTooLong : kBytes);
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
    MUST(ibv_post_send(qp, &wr, &bad) == 0);
  }
  while (done < 3) done += poll_some(cq, &has_failed);
  MUST(has_failed);
}

int main(int count, char** arguments) {
  const char* const server = count > 1 ? arguments[1] : NULL;
  const int tcp = tcp_pair(server, kPort);
  struct ibv_context* const context = open_first_device();
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_cq* const cq = ibv_create_cq(context, 2 * kSlots, NULL, NULL, 0);
  MUST(pd != NULL && cq != NULL);
  struct ibv_mr* const mr = ibv_reg_mr(pd, chosen_memory(4096), 4096, IBV_ACCESS_LOCAL_WRITE);
  MUST(mr != NULL);
  for (int round = 0; round < kRounds; ++round) {
    struct ibv_qp* const qp = make_qp(pd, cq);
    const struct rc_address mine = {.lid = port_lid(context), .qpn = qp->qp_num, .psn = 7};
    struct rc_address theirs;
    rc_exchange(tcp, &mine, &theirs);
    const struct rc_options options = {.mtu = IBV_MTU_1024, .rnr_timer = 1, .reads = 1};
    rc_connect(qp, &mine, &theirs, &options);
    char byte = 0;
    tcp_write(tcp, &byte, 1);
    tcp_read(tcp, &byte, 1);
    server == NULL ? serve(qp, cq, mr, tcp, round) : attack(qp, cq, mr, tcp, round);
    tcp_write(tcp, &byte, 1);
    tcp_read(tcp, &byte, 1);
    MUST(ibv_destroy_qp(qp) == 0);
  }
  return 0;
}

// A counter changed by the client's adapter and the server's processor. Atomics of an adapter are atomic only
// with respect to that adapter (IBV_ATOMIC_HCA). `buggy` adds with the processor, and polls a completion queue
// between load and store: an addition in between is lost. `fixed` adds through a queue pair of its own adapter.
#include "litmus.h"

enum { kRounds = 100 };

static struct litmus my;

static void add(struct litmus* l, int qp, void* before) {
  struct ibv_sge sge = {.addr = (uintptr_t)before, .length = 8, .lkey = l->mr->lkey};
  struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD}, *bad;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.atomic.remote_addr = l->theirs[qp].address;
  wr.wr.atomic.rkey = l->theirs[qp].rkey;
  wr.wr.atomic.compare_add = 1;
  MUST(ibv_post_send(l->qp[qp], &wr, &bad) == 0);
  litmus_wait(l->send_cq);
}

static void allow_atomics(struct litmus* l) {
  MUST(ibv_dereg_mr(l->mr) == 0);
  l->mr = ibv_reg_mr(l->pd, l->memory, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ);
  MUST(l->mr != NULL);
  litmus_qp(l, 0, kQueue);
  struct ibv_qp_attr attr = {.qp_access_flags = IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ};
  MUST(ibv_modify_qp(l->qp[0], &attr, IBV_QP_ACCESS_FLAGS) == 0);
}

// A queue pair that is connected with itself.
static void connect_with_itself(struct litmus* l) {
  struct ibv_qp_init_attr init = {.send_cq = l->send_cq, .recv_cq = l->recv_cq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = init.cap.max_recv_wr = init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  l->qp[1] = ibv_create_qp(l->pd, &init);
  MUST(l->qp[1] != NULL);
  l->theirs[1] = (struct rc_address){.lid = port_lid(l->context), .qpn = l->qp[1]->qp_num, .psn = 100, .rkey = l->mr->rkey,
                                     .address = (uintptr_t)l->memory};
  const struct rc_options options = {.mtu = IBV_MTU_1024, .rnr_timer = 12, .reads = 4};
  rc_connect(l->qp[1], &l->theirs[1], &l->theirs[1], &options);
  struct ibv_qp_attr attr = {.qp_access_flags = IBV_ACCESS_REMOTE_ATOMIC};
  MUST(ibv_modify_qp(l->qp[1], &attr, IBV_QP_ACCESS_FLAGS) == 0);
}

static void add_here(void) {
  volatile uint64_t* const counter = (volatile uint64_t*)my.memory;
  if (my.is_fixed) connect_with_itself(&my);
  litmus_meet(&my);
  for (int i = 0; i < kRounds; ++i) {
    if (my.is_fixed) {
      add(&my, 1, my.memory + 64);
      continue;
    }
    const uint64_t before = *counter;
    struct ibv_wc wc;
    MUST(ibv_poll_cq(my.recv_cq, 1, &wc) == 0);
    *counter = before + 1;
  }
  litmus_meet(&my);
  if (*counter != 2 * kRounds) FAIL("%d additions have brought %d", 2 * kRounds, (int)*counter);
}

static void add_there(void) {
  litmus_meet(&my);
  for (int i = 0; i < kRounds; ++i) add(&my, 0, my.memory + 64);
  litmus_meet(&my);
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 0, kQueue, 4096);
  allow_atomics(&my);
  litmus_meet(&my);
  my.server == NULL ? add_here() : add_there();
  litmus_meet(&my);
  printf("%d additions\n", 2 * kRounds);
  return 0;
}

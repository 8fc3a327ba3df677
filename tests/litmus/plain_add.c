// A word to which the client's adapter adds and in which the server's processor sets flags. Atomics of an adapter
// are atomic only with respect to that adapter (IBV_ATOMIC_HCA). `buggy` sets flags in the same word, without a
// call between load and store: an addition in between is lost. `fixed` has them in a word of their own.
#include "litmus.h"

enum { kRounds = 40, kFlag = 1 << 16 };

static struct litmus my;

static void allow_atomics(void) {
  MUST(ibv_dereg_mr(my.mr) == 0);
  my.mr = ibv_reg_mr(my.pd, my.memory, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ);
  MUST(my.mr != NULL);
  litmus_qp(&my, 0, kQueue);
  struct ibv_qp_attr attr = {.qp_access_flags = IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ};
  MUST(ibv_modify_qp(my.qp[0], &attr, IBV_QP_ACCESS_FLAGS) == 0);
}

static void set_flags(void) {
  volatile uint64_t* const counter = (volatile uint64_t*)my.memory;
  volatile uint64_t* const flags = my.is_fixed ? counter + 16 : counter;
  litmus_meet(&my);
  struct ibv_wc wc;
  for (int i = 0; i < kRounds; ++i) {
    MUST(ibv_poll_cq(my.recv_cq, 1, &wc) == 0);
    *flags |= kFlag;
    MUST(ibv_poll_cq(my.recv_cq, 1, &wc) == 0);
    *flags &= ~(uint64_t)kFlag;
  }
  litmus_meet(&my);
  if (*counter != kRounds) FAIL("%d additions have brought %d", kRounds, (int)*counter);
}

static void add(void) {
  litmus_meet(&my);
  for (int i = 0; i < kRounds; ++i) {
    struct ibv_sge sge = {.addr = (uintptr_t)(my.memory + 64), .length = 8, .lkey = my.mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD}, *bad;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.atomic.remote_addr = my.theirs[0].address;
    wr.wr.atomic.rkey = my.theirs[0].rkey;
    wr.wr.atomic.compare_add = 1;
    MUST(ibv_post_send(my.qp[0], &wr, &bad) == 0);
    litmus_wait(my.send_cq);
  }
  litmus_meet(&my);
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 0, kQueue, 4096);
  allow_atomics();
  litmus_meet(&my);
  my.server == NULL ? set_flags() : add();
  litmus_meet(&my);
  printf("%d additions\n", kRounds);
  return 0;
}

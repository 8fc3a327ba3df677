// Concurrent RDMA READs. The server executes one at a time (max_dest_rd_atomic). `buggy` lets the client send
// up to 8 (max_rd_atomic): the server refuses the excess, and the connection fails. `fixed` uses the server's
// limit at the client.
#include "litmus.h"

enum { kReads = 8, kBytes = 8192 };

static struct litmus my;

static void open_qp(uint8_t mine_at_once) {
  struct ibv_qp_init_attr init = {.send_cq = my.send_cq, .recv_cq = my.recv_cq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = init.cap.max_recv_wr = kQueue;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  my.qp[0] = ibv_create_qp(my.pd, &init);
  MUST(my.qp[0] != NULL);
  const struct rc_address mine = {.lid = port_lid(my.context), .qpn = my.qp[0]->qp_num, .psn = 100, .rkey = my.mr->rkey,
                                  .address = (uintptr_t)my.memory};
  rc_exchange(my.tcp, &mine, &my.theirs[0]);
  const struct rc_options options = {.mtu = IBV_MTU_1024, .rnr_timer = 12, .reads = mine_at_once};
  rc_connect(my.qp[0], &mine, &my.theirs[0], &options);
}

static void read_all(void) {
  litmus_meet(&my);
  for (int i = 0; i < kReads; ++i)
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_READ, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
  for (int i = 0; i < kReads;) {
    struct ibv_wc wc;
    const int n = ibv_poll_cq(my.send_cq, 1, &wc);
    MUST(n >= 0);
    if (n == 1 && wc.status != IBV_WC_SUCCESS) FAIL("READ %d: %s", i, ibv_wc_status_str(wc.status));
    i += n;
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 0, kQueue, kBytes);
  open_qp(my.server == NULL || my.is_fixed ? 1 : 8);
  my.server == NULL ? litmus_meet(&my) : read_all();
  litmus_meet(&my);
  printf("%d reads\n", kReads);
  return 0;
}

// A window on the server's memory that is closed while the client writes through it. The client writes on one
// queue pair and reports that on another. `buggy` sends the report without waiting for the WRITE: the window
// may be closed when the WRITE arrives, which then fails. `fixed` waits for the WRITE's completion first.
#include "litmus.h"

enum { kRounds = 20, kBytes = 2048 };

static struct litmus my;
static struct ibv_mw* window;

static void post(struct ibv_send_wr* wr) {
  struct ibv_send_wr* bad;
  wr->send_flags = IBV_SEND_SIGNALED;
  MUST(ibv_post_send(my.qp[0], wr, &bad) == 0);
  litmus_wait(my.send_cq);
}

static void open_window(void) {
  struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW};
  bind.bind_mw.mw = window;
  bind.bind_mw.rkey = ibv_inc_rkey(window->rkey);
  bind.bind_mw.bind_info = (struct ibv_mw_bind_info){
      .mr = my.mr, .addr = (uintptr_t)my.memory, .length = kBytes, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  post(&bind);
  window->rkey = bind.bind_mw.rkey;
  tcp_write(my.tcp, &window->rkey, sizeof window->rkey);
}

static void close_window(void) {
  struct ibv_send_wr invalidate = {.opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = window->rkey};
  post(&invalidate);
}

static void serve(void) {
  my.mr = ibv_reg_mr(my.pd, my.memory, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
  window = ibv_alloc_mw(my.pd, IBV_MW_TYPE_2);
  MUST(my.mr != NULL && window != NULL);
  for (int i = 0; i < kRounds; ++i) litmus_recv(&my, 1, 0, my.memory + kBytes, 8);
  for (int i = 0; i < kRounds; ++i) {
    open_window();
    litmus_wait(my.recv_cq);
    close_window();
  }
}

static void write_rounds(void) {
  for (int i = 0; i < kRounds; ++i) {
    tcp_read(my.tcp, &my.theirs[0].rkey, sizeof my.theirs[0].rkey);
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    if (my.is_fixed) litmus_wait(my.send_cq);
    MUST(litmus_send(&my, 1, IBV_WR_SEND, my.memory, 8, 0, IBV_SEND_SIGNALED) == 0);
    struct ibv_wc wc;
    for (int left = my.is_fixed ? 1 : 2; left > 0;) {
      const int n = ibv_poll_cq(my.send_cq, 1, &wc);
      MUST(n >= 0);
      if (n == 1 && wc.status != IBV_WC_SUCCESS) FAIL("WRITE %d: %s", i, ibv_wc_status_str(wc.status));
      left -= n;
    }
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 2, kQueue, 4096);
  my.server == NULL ? serve() : write_rounds();
  litmus_meet(&my);
  printf("%d rounds\n", kRounds);
  return 0;
}

// Two programs answer each other, and neither may write the memory in which it receives: adapters write pinned
// pages regardless of their protection, and a program that gets a completion finds the whole message. Short
// messages and ones of several packets alternate; some cross a page boundary of which one side is read-only.
#include "tests/equality/rc_pair.h"

enum { kPort = 18790, kMessages = 120, kPageBytes = 4096, kBytes = 4 * kPageBytes, kCross = 24 };

static uint32_t length_of(uint32_t message) { return message % 3 == 0 ? 6000 : 64; }

// Where the message is received: at the beginning of the pages that are read-only, or around their end.
static char* place_of(char* received, uint32_t message) {
  return message % 3 == 2 ? received + 2 * kPageBytes - kCross : received;
}

static char byte_of(uint32_t message, uint32_t at) { return (char)(message * 31 + at * 7 + at / 256); }

int main(int argc, char** argv) {
  const char* const server = argc > 1 ? argv[1] : NULL;
  struct ibv_context* context = open_first_device();
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 16, NULL, NULL, 0);
  char* const memory = chosen_memory(2 * kBytes);
  char* const received = memory + kBytes;
  struct ibv_mr* mr = ibv_reg_mr(pd, memory, 2 * kBytes, IBV_ACCESS_LOCAL_WRITE);
  MUST(pd != NULL && cq != NULL && mr != NULL);
  MUST(mprotect(received, 2 * kPageBytes, PROT_READ) == 0);
  struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = init.cap.max_recv_wr = 4;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  struct ibv_qp* qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  const int tcp = tcp_pair(server, kPort);
  const struct rc_address mine = {port_lid(context), qp->qp_num, 100, 0, 0};
  struct rc_address theirs;
  rc_exchange(tcp, &mine, &theirs);
  rc_connect(qp, &mine, &theirs, &(struct rc_options){.mtu = IBV_MTU_1024, .rnr_timer = 1, .reads = 1, .timeout = 8});

  const uint32_t first = server == NULL ? 0 : 1;  // the client begins
  for (uint32_t message = 0; message < kMessages; ++message) {
    const int receives = message % 2 != first;
    if (!receives) {
      for (uint32_t at = 0; at < length_of(message); ++at) memory[at] = byte_of(message, at);
      struct ibv_sge sge = {(uintptr_t)memory, length_of(message), mr->lkey};
      struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
      MUST(ibv_post_send(qp, &wr, &bad) == 0);
    } else {
      struct ibv_sge sge = {(uintptr_t)place_of(received, message), length_of(message), mr->lkey};
      struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
      MUST(ibv_post_recv(qp, &wr, &bad) == 0);
    }
    struct ibv_wc wc;
    int n;
    while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) {
    }
    MUST(n == 1 && wc.status == IBV_WC_SUCCESS);
    for (uint32_t at = 0; receives && at < length_of(message); ++at)
      MUST(place_of(received, message)[at] == byte_of(message, at));
  }
  printf("%d messages, all whole\n", kMessages);
  char byte = 0;
  tcp_write(tcp, &byte, 1);
  tcp_read(tcp, &byte, 1);
  return 0;
}

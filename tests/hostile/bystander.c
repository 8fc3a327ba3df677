// One end of a transfer that uses verbs correctly: `bystander` and `bystander HOST`. Both ends send
// each other numbered messages with a pattern, in rounds with pauses between them, and print every
// completion and the sum of every message. The output does not depend on time or on the adapter's other
// users.
#include "tests/equality/rc_pair.h"

enum { kPort = 18700, kRounds = 25, kMessages = 8, kBytes = 9000, kPauseUs = 10000 };

static uint8_t pattern(int server, int round, int message, int at) {
  return (uint8_t)(server * 101 + round * 31 + message * 7 + at * 3 + at / 251);
}

static void wait_for(struct ibv_cq* cq, int count, const char* label) {
  struct ibv_wc wc;
  while (count > 0) {
    const int n = ibv_poll_cq(cq, 1, &wc);
    MUST(n >= 0);
    if (n == 0) continue;
    --count;
    printf("%s %d: status %d opcode %d bytes %u immediate %x flags %x\n", label, (int)wc.wr_id, wc.status,
           wc.opcode, wc.opcode == IBV_WC_RECV ? wc.byte_len : 0,
           wc.opcode == IBV_WC_RECV ? ntohl(wc.imm_data) : 0, wc.wc_flags);
  }
}

int main(int argc, char** argv) {
  const int is_server = argc < 2;
  const int tcp = tcp_pair(is_server ? NULL : argv[1], kPort);
  struct ibv_context* device = open_first_device();
  struct ibv_pd* pd = ibv_alloc_pd(device);
  struct ibv_cq* sends = ibv_create_cq(device, kMessages, NULL, NULL, 0);
  struct ibv_cq* receives = ibv_create_cq(device, kMessages, NULL, NULL, 0);
  const size_t half = (size_t)kMessages * kBytes;
  uint8_t* memory = malloc(2 * half);
  struct ibv_mr* mr = ibv_reg_mr(pd, memory, 2 * half, IBV_ACCESS_LOCAL_WRITE);
  MUST(pd != NULL && sends != NULL && receives != NULL && mr != NULL);
  struct ibv_qp_init_attr init = {
      .send_cq = sends, .recv_cq = receives, .qp_type = IBV_QPT_RC, .sq_sig_all = 1};
  init.cap.max_send_wr = init.cap.max_recv_wr = kMessages;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  struct ibv_qp* qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  const struct rc_address mine = {.lid = port_lid(device), .qpn = qp->qp_num, .psn = 100};
  struct rc_address theirs;
  rc_exchange(tcp, &mine, &theirs);
  const struct rc_options options = {.mtu = IBV_MTU_1024, .rnr_timer = 12, .reads = 1};
  rc_connect(qp, &mine, &theirs, &options);

  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kMessages; ++i) {
      for (int k = 0; k < kBytes; ++k)
        memory[(size_t)i * kBytes + (size_t)k] = pattern(is_server, round, i, k);
      struct ibv_sge sge = {(uintptr_t)memory + half + (size_t)i * kBytes, kBytes, mr->lkey};
      struct ibv_recv_wr wr = {.wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1}, *bad;
      MUST(ibv_post_recv(qp, &wr, &bad) == 0);
    }
    char byte = 0;  // both have posted
    tcp_write(tcp, &byte, 1);
    tcp_read(tcp, &byte, 1);
    for (int i = 0; i < kMessages; ++i) {
      struct ibv_sge sge = {(uintptr_t)memory + (size_t)i * kBytes, kBytes - (uint32_t)i, mr->lkey};
      struct ibv_send_wr wr = {.wr_id = (uint64_t)i,
                               .sg_list = &sge,
                               .num_sge = 1,
                               .opcode = IBV_WR_SEND_WITH_IMM},
                         *bad;
      wr.imm_data = htonl((uint32_t)(round * 256 + i));
      MUST(ibv_post_send(qp, &wr, &bad) == 0);
    }
    wait_for(sends, kMessages, "sent");
    wait_for(receives, kMessages, "received");
    for (int i = 0; i < kMessages; ++i) {
      for (int k = 0; k < kBytes - i; ++k) {
        MUST(memory[half + (size_t)i * kBytes + (size_t)k] == pattern(!is_server, round, i, k));
      }
    }
    usleep(kPauseUs);
  }
  char byte = 0;  // the end that exits first destroys its queue pair
  tcp_write(tcp, &byte, 1);
  tcp_read(tcp, &byte, 1);
  printf("%d rounds\n", kRounds);
  return 0;
}

// A table of connections by QP number. The server polls completions in batches; one in the middle of a batch makes
// it close the connection and open another. `buggy` looks up the rest of the batch by number: a closed connection is
// not found, unless the new one has its number. `fixed` distinguishes connections by their generation in the wr_id.
#include "litmus.h"

enum { kRounds = 12, kBytes = 64 };

static struct litmus my;

struct connection {
  struct ibv_qp* qp;
  uint64_t generation;
  int messages;
};

static struct ibv_qp* open_queue_pair(void) {
  struct ibv_qp_init_attr init = {.send_cq = my.send_cq, .recv_cq = my.recv_cq, .qp_type = IBV_QPT_RC};
  init.cap.max_send_wr = init.cap.max_recv_wr = 4;
  init.cap.max_send_sge = init.cap.max_recv_sge = 1;
  struct ibv_qp* const qp = ibv_create_qp(my.pd, &init);
  MUST(qp != NULL);
  return qp;
}

static void serve(uint64_t round) {
  for (int i = 0; i < 2; ++i) litmus_recv(&my, 0, round, my.memory + i * kBytes, kBytes);
  litmus_meet(&my);
  litmus_meet(&my);  // both messages have been sent
  struct connection connection = {.qp = my.qp[0], .generation = round};
  struct ibv_wc batch[2];
  int count = 0;
  while (count < 2) {
    const int n = ibv_poll_cq(my.recv_cq, 2 - count, batch + count);
    MUST(n >= 0);
    count += n;
  }
  for (int i = 0; i < count; ++i) {
    MUST(batch[i].status == IBV_WC_SUCCESS);
    if (batch[i].qp_num != connection.qp->qp_num) continue;
    if (my.is_fixed && batch[i].wr_id != connection.generation) continue;
    if (connection.generation != round) FAIL("the connection that was opened in round %d has a message of the one before", (int)round);
    ++connection.messages;  // the closing message
    MUST(ibv_destroy_qp(connection.qp) == 0);
    connection = (struct connection){.qp = open_queue_pair(), .generation = round + kRounds};
  }
  MUST(ibv_destroy_qp(connection.qp) == 0);
}

static void send_messages(void) {
  litmus_meet(&my);
  for (int i = 0; i < 2; ++i) MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
  for (int i = 0; i < 2; ++i) litmus_wait(my.send_cq);
  litmus_meet(&my);
  MUST(ibv_destroy_qp(my.qp[0]) == 0);
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 0, 4, 4096);
  for (uint64_t round = 0; round < kRounds; ++round) {
    litmus_qp(&my, 0, 4);
    my.server == NULL ? serve(round) : send_messages();
    litmus_meet(&my);
  }
  printf("%d rounds\n", kRounds);
  return 0;
}

// Lost wake-up with two completion queues on one channel. The server takes all events, polls both queues
// until they are empty, and arms both. `buggy` then polls only the first again: a completion that arrived in
// the second between its last poll and the arm raises no event. `fixed` polls both.
#include "litmus.h"

#include <fcntl.h>
#include <poll.h>

enum { kMessages = 120, kBytes = 64, kQueues = 2 };

static struct litmus my;
static struct ibv_cq* cqs[kQueues];

static int poll_and_answer(int q) {
  int answered = 0;
  struct ibv_wc wc;
  while (ibv_poll_cq(cqs[q], 1, &wc) == 1) {
    MUST(wc.status == IBV_WC_SUCCESS);
    litmus_recv(&my, q, wc.wr_id, my.memory + wc.wr_id * kBytes, kBytes);
    MUST(litmus_send(&my, q, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    while (ibv_poll_cq(my.send_cq, 1, &wc) == 1) MUST(wc.status == IBV_WC_SUCCESS);
    ++answered;
  }
  return answered;
}

static void serve(void) {
  struct pollfd channel = {.fd = my.channel->fd, .events = POLLIN};
  MUST(fcntl(channel.fd, F_SETFL, fcntl(channel.fd, F_GETFL) | O_NONBLOCK) == 0);
  for (int q = 0; q < kQueues; ++q) MUST(ibv_req_notify_cq(cqs[q], 0) == 0);
  litmus_meet(&my);
  for (int answered = 0; answered < kMessages;) {
    struct ibv_cq* cq;
    void* context;
    MUST(poll(&channel, 1, -1) == 1);
    while (ibv_get_cq_event(my.channel, &cq, &context) == 0) ibv_ack_cq_events(cq, 1);
    for (int q = 0; q < kQueues; ++q) answered += poll_and_answer(q);
    for (int q = 0; q < kQueues; ++q) MUST(ibv_req_notify_cq(cqs[q], 0) == 0);
    for (int q = 0; q < (my.is_fixed ? kQueues : 1); ++q) answered += poll_and_answer(q);
  }
}

static void ask(void) {
  litmus_meet(&my);
  for (int message = 0; message < kMessages / kQueues; ++message) {
    for (int q = 0; q < kQueues; ++q) {
      MUST(litmus_send(&my, q, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    }
    for (int q = 0; q < kQueues; ++q) {
      litmus_wait(my.send_cq);
      const uint64_t slot = litmus_wait(cqs[q]);
      litmus_recv(&my, q, slot, my.memory + slot * kBytes, kBytes);
    }
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 0, kQueue, 4096);
  for (int q = 0; q < kQueues; ++q) {
    my.recv_cq = cqs[q] = ibv_create_cq(my.context, 2 * kQueue, NULL, my.channel, 0);
    MUST(cqs[q] != NULL);
    litmus_qp(&my, q, kQueue);
    for (uint64_t i = 0; i < 8; ++i) litmus_recv(&my, q, i, my.memory + i * kBytes, kBytes);
  }
  my.server == NULL ? serve() : ask();
  litmus_meet(&my);  // the end that exits first destroys its queue pairs
  printf("%d messages\n", kMessages);
  return 0;
}

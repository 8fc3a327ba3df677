// Requests and answers as datagrams. `buggy` waits for each answer without limit, though a datagram may be lost. `fixed`
// sends the request again after 5 ms, and ignores answers to earlier requests.
#include "datagram.h"

#include <time.h>

enum { kRequests = 12, kResendMs = 5, kSlots = 32, kSlot = 64 };

static struct litmus my;
static struct datagrams peer;

static uint8_t* slot_of(uint64_t number) { return my.memory + 4096 + kSlot * number; }

static void post(uint64_t number) { litmus_recv(&my, 0, number, slot_of(number), kGrh + 8); }

// The number in the next datagram; 0: none arrived within this time. Negative: no limit.
static uint64_t receive(long limit_ms) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  struct ibv_wc wc;
  while (ibv_poll_cq(my.recv_cq, 1, &wc) == 0) {
    if (limit_ms < 0) continue;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 >= limit_ms) return 0;
  }
  MUST(wc.status == IBV_WC_SUCCESS);
  uint64_t number;
  memcpy(&number, slot_of(wc.wr_id) + kGrh, sizeof number);
  post(wc.wr_id);
  return number;
}

static void send_number(uint64_t number) {
  memcpy(my.memory, &number, sizeof number);
  send_datagram(&my, &peer, my.memory, sizeof number);
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 0, kQueue, 8192);
  peer = open_datagrams(&my);
  for (uint64_t i = 0; i < kSlots; ++i) post(i);
  litmus_meet(&my);
  if (my.server == NULL) {
    // Ends with the number that asks for no answer, sent until the connection of TCP confirms it.
    for (uint64_t number; (number = receive(-1)) != UINT64_MAX;) send_number(number);
    litmus_meet(&my);
  } else {
    for (uint64_t number = 1; number <= kRequests; ++number) {
      send_number(number);
      for (uint64_t got; (got = receive(my.is_fixed ? kResendMs : -1)) != number;) {
        if (got == 0) send_number(number);
      }
    }
    char confirmed;
    do send_number(UINT64_MAX);
    while (recv(my.tcp, &confirmed, 1, MSG_DONTWAIT) != 1 && receive(kResendMs) == 0);
    tcp_write(my.tcp, &confirmed, 1);
  }
  printf("%d requests\n", kRequests);
  return 0;
}

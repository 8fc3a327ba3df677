// A burst of numbered datagrams. `buggy` expects them in the order in which they were sent, apart from gaps. `fixed` stores
// each by its number.
#include "datagram.h"

enum { kDatagrams = 16, kSlot = 64 };

static struct litmus my;

static uint8_t* slot_of(uint64_t number) { return my.memory + 4096 + kSlot * number; }

static void take(void) {
  uint64_t last = 0, seen = 0;
  litmus_meet(&my);
  litmus_meet(&my);  // all are sent
  usleep(50000);     // longer than any of them takes
  struct ibv_wc wc;
  while (ibv_poll_cq(my.recv_cq, 1, &wc) == 1) {
    MUST(wc.status == IBV_WC_SUCCESS);
    uint64_t number;
    memcpy(&number, slot_of(wc.wr_id) + kGrh, sizeof number);
    if (!my.is_fixed && number <= last) FAIL("datagram %d arrives after number %d", (int)number, (int)last);
    last = number;
    MUST(number >= 1 && number <= kDatagrams);
    seen |= (uint64_t)1 << number;
  }
  MUST(seen != 0);
}

static void burst(const struct datagrams* peer) {
  litmus_meet(&my);
  for (uint64_t number = 1; number <= kDatagrams; ++number) {
    memcpy(my.memory, &number, sizeof number);
    send_datagram(&my, peer, my.memory, sizeof number);
  }
  litmus_meet(&my);
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 0, kQueue, 8192);
  const struct datagrams peer = open_datagrams(&my);
  for (uint64_t i = 0; i < kQueue / 2; ++i) litmus_recv(&my, 0, i, slot_of(i), kGrh + 8);
  my.server == NULL ? take() : burst(&peer);
  litmus_meet(&my);
  printf("%d datagrams\n", kDatagrams);
  return 0;
}

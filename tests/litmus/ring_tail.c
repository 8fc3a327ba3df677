// A ring in the server's memory: the client WRITEs an entry, then by a second WRITE of the same queue pair the tail. `buggy`
// has registered the ring with IBV_ACCESS_RELAXED_ORDERING, so that the tail may be visible before the entry. `fixed` has not;
// it fails only on hardware with the quirk unordered-writes.
#include "litmus.h"

enum { kEntries = 40, kSize = 64, kRing = 4096 };

static struct litmus my;
static struct ibv_mr* ring;

static void serve(void) {
  volatile uint64_t* const tail = (volatile uint64_t*)my.memory;
  for (uint64_t taken = 0; taken < kEntries; ++taken) {
    while (*tail <= taken) {
    }
    const volatile uint64_t* const entry = (const volatile uint64_t*)(my.memory + kSize * (1 + taken));
    for (int i = 0; i < kSize / 8; ++i) {
      if (entry[i] != taken + 1) FAIL("the tail is %d, but word %d of entry %d is %d", (int)*tail, i, (int)taken, (int)entry[i]);
    }
  }
}

static void fill(void) {
  uint64_t* const entry = (uint64_t*)my.memory;
  for (uint64_t written = 0; written < kEntries; ++written) {
    for (int i = 0; i < kSize / 8; ++i) entry[i] = written + 1;
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE, entry, kSize, kSize * (1 + written), 0) == 0);
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_WRITE, entry, 8, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, kRing);
  unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  if (!my.is_fixed) access |= IBV_ACCESS_RELAXED_ORDERING;
  ring = ibv_reg_mr(my.pd, my.memory, kRing, access);
  MUST(ring != NULL);
  // The client learns the key of the server's ring.
  uint32_t key = ring->rkey;
  tcp_write(my.tcp, &key, sizeof key);
  tcp_read(my.tcp, &key, sizeof key);
  my.theirs[0].rkey = key;
  my.server == NULL ? serve() : fill();
  litmus_meet(&my);
  printf("%d entries\n", kEntries);
  return 0;
}

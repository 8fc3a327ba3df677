// A record of a few cache lines that the server copies into place and the client READs. `buggy` takes a record whose version
// is new for whole; but an adapter reads while the processor copies. `fixed` has the version at the end, too.
#include "litmus.h"

enum { kReads = 60, kWords = 24, kChanges = 400 };

struct record {
  uint64_t version, data[kWords - 2], end;
};

static struct litmus my;

static void change(void) {
  struct ibv_wc wc;
  litmus_recv(&my, 0, 0, my.memory + 2048, 8);
  litmus_meet(&my);
  for (uint64_t version = 1; ibv_poll_cq(my.recv_cq, 1, &wc) == 0; ++version) {
    if (version > kChanges) continue;
    struct record next = {.version = version, .end = version};
    for (int i = 0; i < kWords - 2; ++i) next.data[i] = version;
    // By the library's function, with a length that the compiler does not know.
    volatile size_t length = sizeof next;
    memcpy(my.memory, &next, length);
    usleep(5);
  }
}

static void look(void) {
  const struct record* const got = (const struct record*)my.memory;
  litmus_meet(&my);
  for (int i = 0; i < kReads; ++i) {
    MUST(litmus_send(&my, 0, IBV_WR_RDMA_READ, my.memory, sizeof *got, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
    if (my.is_fixed && got->end != got->version) continue;
    for (int k = 0; k < kWords - 2; ++k) {
      if (got->data[k] != got->version) FAIL("read %d: version %d has word %d of version %d", i, (int)got->version, k, (int)got->data[k]);
    }
  }
  MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, 8, 0, IBV_SEND_SIGNALED) == 0);
  litmus_wait(my.send_cq);
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  my.server == NULL ? change() : look();
  litmus_meet(&my);
  printf("%d reads\n", kReads);
  return 0;
}

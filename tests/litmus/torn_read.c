// A record that the server changes and the client READs: a version, then the data, all of which have the version's number.
// `buggy` reads the version twice, before and after, and takes a record whose version has not changed for whole; but the
// version is the first to change. `fixed` has a sum at the end of the record.
#include "litmus.h"

enum { kReads = 40, kBytes = 4096, kWords = kBytes / 8 };

static struct litmus my;

static void change(void) {
  volatile uint64_t* const record = (volatile uint64_t*)my.memory;
  litmus_meet(&my);
  struct ibv_wc wc;
  // Changes the record until the client has read often enough.
  litmus_recv(&my, 0, 0, my.memory + 2 * kBytes, 8);
  for (uint64_t version = 1; ibv_poll_cq(my.recv_cq, 1, &wc) == 0; ++version) {
    record[0] = version;
    for (int part = 0; part < 4; ++part) {
      for (int i = 1; i < kWords / 4; ++i) record[part * kWords / 4 + i - (part > 0)] = version;
      if (part > 0) record[(part + 1) * kWords / 4 - 1] = version;
      MUST(ibv_poll_cq(my.send_cq, 1, &wc) == 0);
    }
    record[kWords - 1] = ~version;
    for (int pause = 0; pause < 400; ++pause) MUST(ibv_poll_cq(my.send_cq, 1, &wc) == 0);
  }
}

static void read_here(int offset, int bytes) {
  MUST(litmus_send(&my, 0, IBV_WR_RDMA_READ, my.memory + offset, (uint32_t)bytes, 0, IBV_SEND_SIGNALED) == 0);
  litmus_wait(my.send_cq);
}

static void look(void) {
  const uint64_t* const record = (const uint64_t*)my.memory;
  const uint64_t* const again = (const uint64_t*)(my.memory + kBytes);
  litmus_meet(&my);
  for (int i = 0; i < kReads; ++i) {
    read_here(0, kBytes);
    if (my.is_fixed) {
      int is_whole = record[kWords - 1] == ~record[0];
      for (int k = 1; k < kWords - 1; ++k) is_whole = is_whole && record[k] == record[0];
      if (!is_whole) continue;
    } else {
      read_here(kBytes, 8);
      if (again[0] != record[0]) continue;
    }
    for (int k = 1; k < kWords - 1; ++k) {
      if (record[k] != record[0]) FAIL("read %d: version %d has word %d of version %d", i, (int)record[0], k, (int)record[k]);
    }
  }
  MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, 8, 0, IBV_SEND_SIGNALED) == 0);
  litmus_wait(my.send_cq);
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 3 * kBytes);
  my.server == NULL ? change() : look();
  litmus_meet(&my);
  printf("%d reads\n", kReads);
  return 0;
}

// Polling on the last byte of an RDMA WRITE. `buggy` takes a record as complete when its last byte has
// changed; the bytes of one WRITE arrive in any order. `fixed` waits for the completion of a WRITE with
// immediate data. `last_byte buggy|fixed [server|-] [records]`: number of records, default 30.
#include "litmus.h"

enum { kBytes = 200 };

static int rounds = 30;

static struct litmus my;

static void serve(void) {
  volatile uint8_t* record = my.memory;
  litmus_meet(&my);
  for (int i = 1; i <= rounds; ++i) {
    if (my.is_fixed) {
      litmus_wait(my.recv_cq);
    } else {
      while (record[kBytes - 1] != (uint8_t)i) {
      }
    }
    for (int k = 0; k < kBytes; ++k) {
      if (record[k] != (uint8_t)i)
        FAIL("record %d is complete, but byte %d is of record %d", i, k, record[k]);
    }
    if (my.is_fixed) litmus_recv(&my, 0, 0, NULL, 0);
    litmus_meet(&my);
  }
}

static void write_records(void) {
  litmus_meet(&my);
  for (int i = 1; i <= rounds; ++i) {
    memset(my.memory, i, kBytes);
    const enum ibv_wr_opcode opcode = my.is_fixed ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    MUST(litmus_send(&my, 0, opcode, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
    litmus_meet(&my);
  }
}

int main(int argc, char** argv) {
  if (argc > 3) rounds = atoi(argv[3]);
  litmus_start(&my, argc > 2 && strcmp(argv[2], "-") == 0 ? 2 : argc, argv, 1, kQueue, 4096);
  litmus_recv(&my, 0, 0, NULL, 0);
  my.server == NULL ? serve() : write_records();
  litmus_meet(&my);  // the end that exits first destroys its queue pair
  printf("%d records\n", rounds);
  return 0;
}

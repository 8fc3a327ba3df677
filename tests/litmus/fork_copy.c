// A worker process that is started before its messages arrive. `buggy` reads them in its copy of the buffer:
// adapters write to the memory of the process that registered it, and the copy keeps its content from the
// fork. `fixed` shares one buffer (MAP_SHARED).
#include <sys/mman.h>
#include <sys/wait.h>

#include "litmus.h"

enum { kMessages = 4, kBytes = 64 };

static struct litmus my;
static uint8_t* buffer;

// Hears by the pipe which message is there.
static int work(int notes) {
  for (int i = 0; i < kMessages; ++i) {
    uint8_t slot;
    MUST(read(notes, &slot, 1) == 1);
    for (int k = 0; k < kBytes; ++k) {
      if (buffer[slot * kBytes + k] != slot + 1)
        FAIL("message %d has come, and the worker finds %d in its byte %d", slot, buffer[slot * kBytes + k], k);
    }
  }
  return 0;
}

static void serve(void) {
  const int sharing = my.is_fixed ? MAP_SHARED : MAP_PRIVATE;
  buffer = mmap(NULL, kMessages * kBytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
  MUST(buffer != MAP_FAILED);
  struct ibv_mr* const region = ibv_reg_mr(my.pd, buffer, kMessages * kBytes, IBV_ACCESS_LOCAL_WRITE);
  MUST(region != NULL);
  for (uint64_t slot = 0; slot < kMessages; ++slot) {
    struct ibv_sge sge = {.addr = (uintptr_t)(buffer + slot * kBytes), .length = kBytes, .lkey = region->lkey};
    struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1}, *bad;
    MUST(ibv_post_recv(my.qp[0], &wr, &bad) == 0);
  }
  int notes[2];
  MUST(pipe(notes) == 0);
  const pid_t worker = fork();
  MUST(worker >= 0);
  if (worker == 0) exit(work(notes[0]));
  litmus_meet(&my);
  for (int i = 0; i < kMessages; ++i) {
    const uint8_t slot = (uint8_t)litmus_wait(my.recv_cq);
    MUST(write(notes[1], &slot, 1) == 1);
  }
  int status;
  MUST(waitpid(worker, &status, 0) == worker);
  if (status != 0) FAIL("the worker has failed");
}

static void ask(void) {
  litmus_meet(&my);
  for (int i = 0; i < kMessages; ++i) {
    memset(my.memory, i + 1, kBytes);
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  my.server == NULL ? serve() : ask();
  litmus_meet(&my);  // the end that exits first destroys its queue pair
  printf("%d messages\n", kMessages);
  return 0;
}

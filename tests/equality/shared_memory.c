// A server of several processes: one has the queue pair and registers memory that it shares with its workers,
// which wait for data of the other end there. One worker polls memory only, one also a completion queue of
// its own, one a randomly chosen one of two queues, one sleeps between polls. Each prints when it has seen
// each flag, and answers it in the same memory, which the other end reads. `shared_memory buggy|fixed
// [server]` as in litmus.h.
#include <sys/wait.h>

#include "tests/equality/moments.h"
#include "tests/litmus/litmus.h"

enum { kTimes = 10, kWorkers = 4, kLine = 64 };

static volatile uint32_t* flag_of(uint8_t* shared, int worker) { return (volatile uint32_t*)(shared + 4096 * worker); }
static volatile uint32_t* answer_of(uint8_t* shared, int worker) { return flag_of(shared, worker) + kLine / sizeof(uint32_t); }

static int work(uint8_t* shared, int worker) {
  struct ibv_context* const own = worker == 1 || worker == 3 ? open_first_device() : NULL;
  struct ibv_cq* idle[2] = {NULL, NULL};
  for (int i = 0; own != NULL && i < 2; ++i) MUST((idle[i] = ibv_create_cq(own, 4, NULL, NULL, 0)) != NULL);
  struct ibv_wc wc;
  uint32_t random = 1;
  for (uint32_t i = 1; i <= kTimes; ++i) {
    while (*flag_of(shared, worker) < i) {
      if (worker == 3) random = random * 1664525 + 1013904223;
      if (own != NULL) MUST(ibv_poll_cq(idle[random >> 31], 1, &wc) == 0);
      if (worker == 2) nap(3000);
    }
    printf("worker %d: %u at %lld\n", worker, i, now_ns());
    *answer_of(shared, worker) = i;
  }
  return 0;
}

static void serve(struct litmus* l) {
  const size_t bytes = kWorkers * 4096;
  uint8_t* const shared =
      mmap((void*)0x20000000, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  MUST(shared != MAP_FAILED);
  struct ibv_mr* const mr =
      ibv_reg_mr(l->pd, shared, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  MUST(mr != NULL);
  pid_t workers[kWorkers];
  for (int i = 0; i < kWorkers; ++i) {
    workers[i] = fork();
    if (workers[i] == 0) exit(work(shared, i));
  }
  const struct rc_address mine = {.rkey = mr->rkey, .address = (uintptr_t)shared};
  tcp_write(l->tcp, &mine, sizeof mine);
  for (int i = 0; i < kWorkers; ++i) {
    int status = 0;
    MUST(waitpid(workers[i], &status, 0) == workers[i] && status == 0);
  }
}

static void ask(struct litmus* l) {
  tcp_read(l->tcp, &l->theirs[0], sizeof l->theirs[0]);
  volatile uint32_t* const word = (volatile uint32_t*)l->memory;
  for (uint32_t i = 1; i <= kTimes; ++i) {
    for (int worker = 0; worker < kWorkers; ++worker) {
      nap(9000 + 7 * (long)i);
      word[0] = i;
      MUST(litmus_send(l, 0, IBV_WR_RDMA_WRITE, l->memory, 4, 4096 * worker, IBV_SEND_SIGNALED) == 0);
      litmus_wait(l->send_cq);
      int reads = 0;
      do {
        MUST(litmus_send(l, 0, IBV_WR_RDMA_READ, l->memory + kLine, 4, 4096 * worker + kLine, IBV_SEND_SIGNALED) == 0);
        litmus_wait(l->send_cq);
        MUST(++reads < 1000);
      } while (word[kLine / sizeof(uint32_t)] != i);
      printf("worker %d has answered %u after %d reads, at %lld\n", worker, i, reads, now_ns());
    }
  }
}

int main(int argc, char** argv) {
  struct litmus l;
  setvbuf(stdout, NULL, _IOLBF, 0);
  litmus_start(&l, argc, argv, 1, 4, 4096);
  litmus_meet(&l);
  l.server == NULL ? serve(&l) : ask(&l);
  litmus_meet(&l);
  return 0;
}

// Frames that calls leave below the stack pointer: a program that sends an uninitialised variable sends them. After each
// call the memory there is hashed, and the hash is printed.
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "tests/equality/rc_pair.h"

enum { kPort = 18531, kRounds = 40, kDepth = 4096, kBytes = 64, kQueue = 128, kMemory = 1 << 12 };

static struct ibv_cq* cq;
static struct ibv_qp* qp;
static struct ibv_mr* mr;
static char* memory;
static struct rc_address theirs;

static __attribute__((noinline)) void fill_stack(void) {
  unsigned char bytes[kDepth];
  memset(bytes, 0xa5, sizeof bytes);
  __asm__ volatile("" : : "r"(bytes) : "memory");
}

static void poll_once(void) {
  struct ibv_wc done[4];
  MUST(ibv_poll_cq(cq, 4, done) >= 0);
}

static void write_once(void) {
  struct ibv_sge part = {.addr = (uintptr_t)memory, .length = kBytes, .lkey = mr->lkey};
  struct ibv_send_wr request = {.sg_list = &part, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
  request.wr.rdma.remote_addr = theirs.address + kBytes;
  request.wr.rdma.rkey = theirs.rkey;
  struct ibv_send_wr* bad = NULL;
  MUST(ibv_post_send(qp, &request, &bad) == 0);
}

static void receive_once(void) {
  struct ibv_sge part = {.addr = (uintptr_t)memory + 2 * kBytes, .length = kBytes, .lkey = mr->lkey};
  struct ibv_recv_wr request = {.sg_list = &part, .num_sge = 1};
  struct ibv_recv_wr* bad = NULL;
  MUST(ibv_post_recv(qp, &request, &bad) == 0);
}

static void arm(void) { MUST(ibv_req_notify_cq(cq, 0) == 0); }

static void yield(void) { sched_yield(); }

static void read_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
}

static void read_seconds(void) { time(NULL); }

static void nap(void) {
  const struct timespec time = {.tv_nsec = 700};
  nanosleep(&time, NULL);
}

static void wait_for_completion(void) {
  struct ibv_wc done;
  write_once();
  while (ibv_poll_cq(cq, 1, &done) == 0) continue;
}

static void query(void) {
  struct ibv_port_attr port;
  MUST(ibv_query_port(qp->context, 1, &port) == 0);
}

static const struct {
  const char* name;
  void (*call)(void);
} kCalls[] = {{"poll", poll_once},       {"write", write_once},     {"receive", receive_once}, {"arm", arm},
              {"yield", yield},          {"clock", read_time},      {"time", read_seconds},    {"nap", nap},
              {"wait", wait_for_completion}, {"query", query}};

// FNV-1a of the words below the stack pointer that the call has left.
static __attribute__((noinline)) uint64_t hash_after(void (*call)(void)) {
  fill_stack();
  call();
  const volatile uint64_t* below;
  __asm__ volatile("mov %%rsp, %0" : "=r"(below));
  uint64_t hash = 0xcbf29ce484222325;
  for (int i = 1; i <= kDepth / 8 - 16; ++i) hash = (hash ^ below[-i]) * 0x100000001b3;
  return hash;
}

static void* rounds(void* name) {
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < sizeof kCalls / sizeof kCalls[0]; ++i) {
      const uint64_t hash = hash_after(kCalls[(i * 7 + (size_t)round * 3) % 10].call);
      printf("%s %d %s %016llx\n", (const char*)name, round, kCalls[(i * 7 + (size_t)round * 3) % 10].name,
             (unsigned long long)hash);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  const char* const server = argc > 1 ? argv[1] : NULL;
  const int fd = tcp_pair(server, kPort);
  struct ibv_context* const context = open_first_device();
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  memory = chosen_memory(kMemory);
  mr = ibv_reg_mr(pd, memory, kMemory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  struct ibv_comp_channel* const channel = ibv_create_comp_channel(context);
  cq = ibv_create_cq(context, 4 * kQueue, NULL, channel, 0);
  struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC};
  init.cap = (struct ibv_qp_cap){.max_send_wr = 2 * kQueue, .max_recv_wr = 2 * kQueue, .max_send_sge = 1, .max_recv_sge = 1};
  qp = ibv_create_qp(pd, &init);
  MUST(mr != NULL && cq != NULL && qp != NULL);
  const struct rc_address mine = {port_lid(context), qp->qp_num, 7, mr->rkey, (uintptr_t)memory};
  rc_exchange(fd, &mine, &theirs);
  const struct rc_options options = {.mtu = IBV_MTU_1024, .rnr_timer = 1, .reads = 1};
  rc_connect(qp, &mine, &theirs, &options);
  rounds("main");
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, rounds, "thread") == 0 && pthread_join(thread, NULL) == 0);
  char byte = 0;
  tcp_write(fd, &byte, 1);
  tcp_read(fd, &byte, 1);
  return 0;
}

// Runs one waiting loop by name, see waits.h.
#include <pthread.h>
#include <time.h>

#include "tests/litmus/litmus.h"
#include "tests/waits/waits.h"

struct waits w;

#ifdef __SANITIZE_ADDRESS__
// LeakSanitizer traces the process at its end, but the simulator traces it already.
const char* __asan_default_options(void) { return "detect_leaks=0"; }
#endif

static void sleep_ns(int64_t ns) {
  const struct timespec time = {ns / 1000000000, ns % 1000000000};
  nanosleep(&time, NULL);
}

void sleep_as_long(void) { sleep_ns(w.wait_ns); }

void in_thread(void* (*function)(void*)) {
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, function, NULL) == 0);
  pthread_detach(thread);
}

static const struct wait_case* find(const char* name) {
  static const struct wait_case* const tables[] = {kPollCases, kClockCases,  kCounterCases, kLockCases,
                                            kMemoryCases, kKernelCases, kObjectCases, kContinuedCases};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; ++t) {
    for (const struct wait_case* at = tables[t]; at->name != NULL; ++at) {
      if (strcmp(name, "list") == 0) {
        puts(at->name);
      } else if (strcmp(at->name, name) == 0) {
        return at;
      }
    }
  }
  return NULL;
}

enum { kMirrorBytes = 4096 };

// Receives the message into memory that is registered for it.
static void receive_into(struct litmus* l, void* place, uint32_t length) {
  const struct ibv_mr* const mr = ibv_reg_mr(l->pd, place, length, IBV_ACCESS_LOCAL_WRITE);
  MUST(mr != NULL);
  struct ibv_sge sge = {.addr = (uintptr_t)place, .length = length, .lkey = mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = 7, .sg_list = &sge, .num_sge = 1}, *bad;
  MUST(ibv_post_recv(l->qp[0], &wr, &bad) == 0);
}

// Receives the message into a page that is mapped at two addresses, as of a ring buffer whose end is followed by its beginning.
static void receive_into_mirror(struct litmus* l) {
  const int file = memfd_create("mirror", 0);
  MUST(file >= 0 && ftruncate(file, kMirrorBytes) == 0);
  void* const place = mmap(NULL, kMirrorBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  w.mirror = mmap(NULL, kMirrorBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  MUST(place != MAP_FAILED && (void*)w.mirror != MAP_FAILED);
  receive_into(l, place, 4);
}

// A function that returns a constant.
static void map_code(void) {
  static const unsigned char kCode[] = {0xb8, 0, 0, 0, 0, 0xc3};  // mov eax, 0; ret
  w.code = mmap(NULL, kMirrorBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST(w.code != MAP_FAILED);
  memcpy(w.code, kCode, sizeof kCode);
}

// The other end reads a counter in registered memory and changes it, while the loop that increments it waits.
static void use_counter(struct litmus* l) {
  uint64_t* const mine = (uint64_t*)(l->memory + 512);
  uint64_t before, after;
  sleep_ns(w.wait_ns / 4);
  MUST(litmus_send(l, 0, IBV_WR_RDMA_READ, mine, 8, kCounterOffset, IBV_SEND_SIGNALED) == 0);
  litmus_wait(l->send_cq);
  before = *mine;
  sleep_ns(w.wait_ns / 4);
  *mine = 1000000;
  MUST(litmus_send(l, 0, IBV_WR_RDMA_WRITE, mine, 8, kCounterOffset, IBV_SEND_SIGNALED) == 0);
  litmus_wait(l->send_cq);
  sleep_ns(w.wait_ns / 4);
  MUST(litmus_send(l, 0, IBV_WR_RDMA_READ, mine, 8, kCounterOffset, IBV_SEND_SIGNALED) == 0);
  litmus_wait(l->send_cq);
  after = *mine;
  sleep_ns(w.wait_ns / 4);
  printf("the counter was %llu and %llu\n", (unsigned long long)before, (unsigned long long)after);
  MUST(before > 0 && after > 1000000);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const struct wait_case* const wait_case = find(argv[1]);
  if (strcmp(argv[1], "list") == 0) return 0;
  MUST(argc > 2 && wait_case != NULL);
  struct litmus l;
  char* const arguments[] = {argv[0], "fixed", argc > 3 ? argv[3] : NULL};
  litmus_start(&l, argc > 3 ? 3 : 2, (char**)arguments, 1, 4, 4096);
  w.wait_ns = atoll(argv[2]) * 1000;
  if (l.server == NULL) {
    litmus_meet(&l);
    strncmp(argv[1], "counter_used", 12) == 0 ? use_counter(&l) : sleep_ns(w.wait_ns);
    *(volatile uint32_t*)l.memory = 1;
    MUST(litmus_send(&l, 0, IBV_WR_RDMA_WRITE, l.memory, 4, 0, IBV_SEND_SIGNALED) == 0);
    MUST(litmus_send(&l, 0, IBV_WR_SEND, l.memory, 4, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(l.send_cq);
    litmus_wait(l.send_cq);
    tcp_write(l.tcp, "", 1);
    return 0;
  }
  map_code();
  if (strstr(argv[1], "mirror") != NULL) {
    receive_into_mirror(&l);
  } else if (strncmp(argv[1], "code_", 5) == 0) {
    receive_into(&l, (char*)w.code + 1, 4);
  } else {
    litmus_recv(&l, 0, 7, l.memory + 2048, 4);
  }
  w.context = l.context;
  w.cq = l.recv_cq;
  w.flag = (volatile uint32_t*)l.memory;
  w.tcp = l.tcp;
  for (int i = 0; i < kIdleQueues; ++i) MUST((w.idle[i] = ibv_create_cq(l.context, 4, NULL, NULL, 0)) != NULL);
  litmus_meet(&l);
  const int told = wait_case->run();
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  char byte;
  tcp_read(l.tcp, &byte, 1);  // after the message has arrived
  printf("%s: %d at %lld.%09ld\n", wait_case->name, told, (long long)now.tv_sec, now.tv_nsec);
  return 0;
}

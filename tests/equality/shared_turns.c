// A progress engine: one thread polls two completion queues in turn and reads a clock every eighth time, and
// counts all that in static memory. Another thread of the process wakes up in the middle of such turns, prints
// the counts, and sets a flag; messages arrive, too. `shared_turns buggy|fixed [server]` as in litmus.h.
#include <pthread.h>

#include "tests/equality/moments.h"
#include "tests/litmus/litmus.h"

enum { kTimes = 60, kClockEvery = 8 };

static volatile unsigned long turns, looks;
static volatile long long seen_ns;
static volatile uint32_t flag;

static void* watch(void* unused) {
  for (uint32_t i = 1; i <= kTimes; ++i) {
    nap(20000 + 7 * (long)i);
    printf("%u: %lu looks, %lu turns, seen %lld, at %lld\n", i, looks, turns, seen_ns, now_ns());
    if (i % 2 == 0) flag = i;
  }
  return unused;
}

int main(int argc, char** argv) {
  struct litmus l;
  litmus_start(&l, argc, argv, 1, 4, 4096);
  struct ibv_wc wc;
  if (l.server == NULL) litmus_recv(&l, 0, 0, l.memory + 2048, 4);
  litmus_meet(&l);
  if (l.server != NULL) {
    for (long i = 0; i < kTimes; ++i) {
      nap(17000 + 3 * i);
      MUST(litmus_send(&l, 0, IBV_WR_SEND, l.memory, 4, 0, IBV_SEND_SIGNALED) == 0);
      litmus_wait(l.send_cq);
    }
    return 0;
  }
  struct ibv_cq* const idle = ibv_create_cq(l.context, 4, NULL, NULL, 0);
  pthread_t watcher;
  MUST(idle != NULL && pthread_create(&watcher, NULL, watch, NULL) == 0);
  const long long end = now_ns() + 1000000000;
  uint32_t flags = 0;
  for (int messages = 0; messages < kTimes || flags < kTimes;) {
    ++looks;
    if (ibv_poll_cq(idle, 1, &wc) != 0) return 1;
    ++looks;
    if (ibv_poll_cq(l.recv_cq, 1, &wc) == 1) {
      printf("message %d after %lu looks, %lu turns, at %lld\n", messages++, looks, turns, now_ns());
      if (messages < kTimes) litmus_recv(&l, 0, 0, l.memory + 2048, 4);
    }
    if (flag != flags) {
      flags = flag;
      printf("flag %u after %lu looks, %lu turns, at %lld\n", flags, looks, turns, now_ns());
    }
    if (++turns % kClockEvery == 0 && (seen_ns = now_ns()) > end) return 1;
  }
  return pthread_join(watcher, NULL);
}

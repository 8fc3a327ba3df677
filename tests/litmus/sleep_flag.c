// A worker answers messages and sleeps when its list is empty; another thread receives messages, puts them on the list
// and wakes it. Each sets a word of its own and then reads the other's: "I am going to sleep", "there is one more".
// `buggy` has no fence in between: a store may remain in the processor's store buffer during the load, both read old
// values, and the worker sleeps for ever. Without store buffers no interleaving of the two fails. `fixed` has the fences.
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#include "litmus.h"

enum { kMessages = 24, kBytes = 64 };

static struct litmus my;
static int wakeups;
static volatile int is_asleep, added;

static void fence(void) {
  if (my.is_fixed) atomic_thread_fence(memory_order_seq_cst);
}

static void* work(void* unused) {
  for (int taken = 0; taken < kMessages;) {
    if (taken < added) {
      ++taken;
      MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory + 1024, kBytes, 0, IBV_SEND_SIGNALED) == 0);
      litmus_wait(my.send_cq);
      continue;
    }
    if (my.is_fixed) {
      is_asleep = 1;
      fence();
    } else {
      is_asleep = 1;
    }
    uint64_t count;
    if (taken == added) MUST(read(wakeups, &count, sizeof count) == sizeof count);
    is_asleep = 0;
  }
  return unused;
}

static void add(void) {
  if (my.is_fixed) {
    added = added + 1;
    fence();
  } else {
    added = added + 1;
  }
  const uint64_t one = 1;
  if (is_asleep) MUST(write(wakeups, &one, sizeof one) == sizeof one);
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  for (uint64_t i = 0; i < kMessages; ++i) litmus_recv(&my, 0, i, my.memory, kBytes);
  litmus_meet(&my);
  if (my.server == NULL) {
    wakeups = eventfd(0, 0);
    pthread_t worker;
    MUST(pthread_create(&worker, NULL, work, NULL) == 0);
    for (int i = 0; i < kMessages; ++i) {
      litmus_wait(my.recv_cq);
      add();
    }
    pthread_join(worker, NULL);
  } else {
    for (int i = 0; i < kMessages; ++i) {
      MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory + 1024, kBytes, 0, IBV_SEND_SIGNALED) == 0);
      litmus_wait(my.send_cq);
      litmus_wait(my.recv_cq);
    }
  }
  litmus_meet(&my);
  printf("%d messages\n", kMessages);
  return 0;
}

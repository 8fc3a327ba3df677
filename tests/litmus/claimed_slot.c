// Two threads allocate slots of one table for their messages, each the first free one, and check the owner. `buggy`
// searches a free slot and takes it without a lock, with no call in between: both may take the same. `fixed` holds a lock.
#include <pthread.h>

#include "litmus.h"

enum { kRounds = 10, kSlots = 8, kBytes = 64 };

struct slot {
  int is_taken, owner;
};

static struct litmus my;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot slots[kSlots];

static __attribute__((noinline)) struct slot* take(int owner) {
  struct slot* slot = slots;
  if (my.is_fixed) pthread_mutex_lock(&lock);
  while (slot->is_taken) ++slot;
  slot->is_taken = 1;
  slot->owner = owner;
  if (my.is_fixed) pthread_mutex_unlock(&lock);
  return slot;
}

static __attribute__((noinline)) void give_back(struct slot* slot, int owner) {
  if (my.is_fixed) pthread_mutex_lock(&lock);
  if (slot->owner != owner) FAIL("slot %d was taken by two threads", (int)(slot - slots));
  slot->is_taken = slot->owner = 0;
  if (my.is_fixed) pthread_mutex_unlock(&lock);
}

static void* receive(void* unused) {
  for (int i = 0; i < kRounds; ++i) {
    struct slot* const slot = take(1);
    litmus_wait(my.recv_cq);
    give_back(slot, 1);
  }
  return unused;
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  for (uint64_t i = 0; i < kRounds; ++i) litmus_recv(&my, 0, i, my.memory, kBytes);
  pthread_t receiver;
  MUST(pthread_create(&receiver, NULL, receive, NULL) == 0);
  litmus_meet(&my);
  for (int i = 0; i < kRounds; ++i) {
    struct slot* const slot = take(2);
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory + 1024, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
    give_back(slot, 2);
  }
  pthread_join(receiver, NULL);
  litmus_meet(&my);
  printf("%d messages\n", 2 * kRounds);
  return 0;
}

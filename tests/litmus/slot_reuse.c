// A connection slot that is used again after a fixed time. One thread of the server takes the connection's slot, answers, and
// notes the answer in the slot; another ends the connection meanwhile and gives the slot to the next one. `buggy` waits 400 us
// in between, so that nobody uses the slot any more; but a thread may be preempted for milliseconds. `fixed` waits until the
// first thread is done with the slot.
#include <pthread.h>
#include <unistd.h>

#include "litmus.h"

enum { kRounds = 8, kGraceUs = 400 };

static struct litmus my;
static struct slot {
  uint64_t owner, answers;
} slot;
static int is_taken, is_done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void set(int* flag) {
  pthread_mutex_lock(&lock);
  *flag = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

static void await(int* flag) {
  pthread_mutex_lock(&lock);
  while (!*flag) pthread_cond_wait(&changed, &lock);
  *flag = 0;
  pthread_mutex_unlock(&lock);
}

static void* answer(void* unused) {
  (void)unused;
  for (uint64_t round = 0; round < kRounds; ++round) {
    litmus_wait(my.recv_cq);
    volatile struct slot* const mine = &slot;
    set(&is_taken);
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, 64, 0, IBV_SEND_SIGNALED) == 0);
    if (mine->owner != round) FAIL("the answer of connection %d is noted in the slot of connection %d", (int)round, (int)mine->owner);
    mine->answers++;
    litmus_wait(my.send_cq);
    set(&is_done);
  }
  return NULL;
}

static void serve(void) {
  for (int i = 0; i < kRounds; ++i) litmus_recv(&my, 0, 0, my.memory + 64, 64);
  litmus_meet(&my);
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, answer, NULL) == 0);
  for (uint64_t round = 0; round < kRounds; ++round) {
    await(&is_taken);
    if (!my.is_fixed) usleep(kGraceUs);
    if (my.is_fixed) await(&is_done);
    slot.owner = round + 1;  // the next connection's
    litmus_meet(&my);
  }
  MUST(pthread_join(thread, NULL) == 0);
}

static void ask(void) {
  litmus_meet(&my);
  for (int round = 0; round < kRounds; ++round) {
    litmus_recv(&my, 0, 0, my.memory + 64, 64);
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, 64, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
    litmus_wait(my.recv_cq);
    litmus_meet(&my);
  }
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  my.server == NULL ? serve() : ask();
  litmus_meet(&my);
  printf("%d rounds\n", kRounds);
  return 0;
}

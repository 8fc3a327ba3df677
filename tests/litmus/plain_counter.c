// Two threads count in one counter: one receives messages, the other sends and polls its completions. `buggy`
// adds without a lock, with no call between load and store: an addition in between is lost. `fixed` holds a lock.
#include <pthread.h>

#include "litmus.h"

enum { kMessages = 10, kBytes = 64 };

static struct litmus my;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int handled;

static void count(void) {
  if (my.is_fixed) pthread_mutex_lock(&lock);
  handled = handled + 1;
  if (my.is_fixed) pthread_mutex_unlock(&lock);
}

static void* receive(void* unused) {
  for (int i = 0; i < kMessages; ++i) {
    litmus_wait(my.recv_cq);
    count();
  }
  return unused;
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  for (uint64_t i = 0; i < kMessages; ++i) litmus_recv(&my, 0, i, my.memory, kBytes);
  pthread_t receiver;
  MUST(pthread_create(&receiver, NULL, receive, NULL) == 0);
  litmus_meet(&my);
  for (int i = 0; i < kMessages; ++i) {
    MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory + 1024, kBytes, 0, IBV_SEND_SIGNALED) == 0);
    litmus_wait(my.send_cq);
    count();
  }
  pthread_join(receiver, NULL);
  if (handled != 2 * kMessages) FAIL("%d were handled, and %d counted", 2 * kMessages, handled);
  litmus_meet(&my);
  printf("%d messages\n", 2 * kMessages);
  return 0;
}

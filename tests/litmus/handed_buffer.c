// Two threads use one buffer. `fixed`: the first posts it, and the second continues after polling the
// completion. `buggy`: it continues when a flag of the first thread is set, which does not order the accesses.
#include <pthread.h>

#include "litmus.h"

enum { kBytes = 64 };

static struct litmus my;
static volatile int is_done;

static void* send_buffer(void* unused) {
  my.memory[0] = 1;
  MUST(litmus_send(&my, 0, IBV_WR_SEND, my.memory, kBytes, 0, IBV_SEND_SIGNALED) == 0);
  __atomic_store_n(&is_done, 1, __ATOMIC_RELAXED);
  return unused;
}

static void* receive_buffer(void* unused) {
  litmus_wait(my.recv_cq);
  MUST(my.memory[0] == 1);
  my.memory[0] = 0;
  return unused;
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  pthread_t thread;
  if (my.server == NULL) {
    my.memory[0] = 7;
    litmus_recv(&my, 0, 1, my.memory, kBytes);
    MUST(pthread_create(&thread, NULL, receive_buffer, NULL) == 0);
    litmus_meet(&my);
  } else {
    litmus_meet(&my);
    MUST(pthread_create(&thread, NULL, send_buffer, NULL) == 0);
    if (my.is_fixed) {
      litmus_wait(my.send_cq);
    } else {
      while (__atomic_load_n(&is_done, __ATOMIC_RELAXED) == 0) usleep(1);
    }
    my.memory[0] = 5;
  }
  MUST(pthread_join(thread, NULL) == 0);
  litmus_meet(&my);
  printf("done\n");
  return 0;
}

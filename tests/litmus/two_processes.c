// Two processes of the server that take turns by flags in shared memory (Dekker). Each sets its flag, and enters only if the
// other's is not set. `buggy` has no fence between the store and the load; `fixed` has one.
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "litmus.h"

enum { kTries = 30 };

static struct litmus my;
static struct shared {
  volatile int flag[2], inside, is_bad;
}* shared;

static int try_to_enter(int me) {
  shared->flag[me] = 1;
  if (my.is_fixed) atomic_thread_fence(memory_order_seq_cst);
  if (shared->flag[1 - me] == 0) return 1;
  shared->flag[me] = 0;
  return 0;
}

static void leave(int me) { shared->flag[me] = 0; }

static void work(int me) {
  struct timespec pause = {0, 2000};
  for (int i = 0; i < kTries; ++i) {
    if (try_to_enter(me)) {
      __atomic_fetch_add(&shared->inside, 1, __ATOMIC_SEQ_CST);
      nanosleep(&pause, NULL);
      if (shared->inside != 1) shared->is_bad = 1;
      __atomic_fetch_sub(&shared->inside, 1, __ATOMIC_SEQ_CST);
      leave(me);
    }
    nanosleep(&pause, NULL);
  }
}

static void serve(void) {
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  MUST(shared != MAP_FAILED);
  const pid_t child = fork();
  MUST(child >= 0);
  work(child == 0);
  if (child == 0) _exit(0);
  MUST(waitpid(child, NULL, 0) == child);
  if (shared->is_bad) FAIL("both processes are inside");
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  litmus_meet(&my);
  if (my.server == NULL) serve();
  litmus_meet(&my);
  printf("%d tries\n", kTries);
  return 0;
}

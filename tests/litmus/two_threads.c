// A completion queue that the program has promised to use from one thread at a time (IBV_CREATE_CQ_ATTR_SINGLE_THREADED), and two
// threads that poll it. `buggy` does so without a lock, `fixed` with one.
#include <pthread.h>

#include "litmus.h"

enum { kPolls = 200 };

static struct litmus my;
static struct ibv_cq* single;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* poll_single(void* unused) {
  for (int i = 0; i < kPolls; ++i) {
    struct ibv_wc wc;
    if (my.is_fixed) pthread_mutex_lock(&lock);
    MUST(ibv_poll_cq(single, 1, &wc) == 0);
    if (my.is_fixed) pthread_mutex_unlock(&lock);
  }
  return unused;
}

int main(int argc, char** argv) {
  litmus_start(&my, argc, argv, 1, kQueue, 4096);
  struct ibv_cq_init_attr_ex wanted = {
      .cqe = 16, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED};
  struct ibv_cq_ex* const made = ibv_create_cq_ex(my.context, &wanted);
  MUST(made != NULL);
  single = ibv_cq_ex_to_cq(made);
  pthread_t other;
  MUST(pthread_create(&other, NULL, poll_single, NULL) == 0);
  poll_single(NULL);
  MUST(pthread_join(other, NULL) == 0);
  litmus_meet(&my);
  printf("%d polls\n", 2 * kPolls);
  return 0;
}

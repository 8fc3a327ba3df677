// wait_for_nothing KIND: polls an empty completion queue, which never gets an entry, in a loop as in real programs.
//   plain   while (!poll)
//   canary  with an array of completions on a stack guarded by the compiler
//   mutex   holding an uncontended mutex for each poll
//   errno   reading errno in between
//   local   counting in a thread-local variable
//   random  one of two queues, chosen by a random number generator
//   ring    one of four queues after the other
//   busy    no queue: a flag, checked between random numbers for some seconds, with reports at times
//   flag    no queue: a flag in memory, whose address is printed, through a pointer on the stack
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct ibv_cq* cq;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread volatile int stop;

__attribute__((noinline)) static int guarded(void) {
  struct ibv_wc completions[16];
  return ibv_poll_cq(cq, 16, completions);
}

static int locked(void) {
  struct ibv_wc completion;
  pthread_mutex_lock(&mutex);
  const int n = ibv_poll_cq(cq, 1, &completion);
  pthread_mutex_unlock(&mutex);
  return n;
}

int main(int argc, char** argv) {
  struct ibv_device** devices = ibv_get_device_list(NULL);
  if (argc != 2 || devices == NULL || devices[0] == NULL) return 2;
  struct ibv_context* context = ibv_open_device(devices[0]);
  cq = ibv_create_cq(context, 16, NULL, NULL, 0);
  if (cq == NULL) return 2;
  struct ibv_wc completion;
  if (strcmp(argv[1], "plain") == 0) {
    while (ibv_poll_cq(cq, 1, &completion) == 0) continue;
  } else if (strcmp(argv[1], "canary") == 0) {
    while (guarded() == 0) continue;
  } else if (strcmp(argv[1], "mutex") == 0) {
    while (locked() == 0) continue;
  } else if (strcmp(argv[1], "errno") == 0) {
    errno = 0;
    while (ibv_poll_cq(cq, 1, &completion) == 0 && errno == 0) continue;
  } else if (strcmp(argv[1], "local") == 0) {
    while (ibv_poll_cq(cq, 1, &completion) == 0 && !stop) continue;
  } else if (strcmp(argv[1], "random") == 0) {
    struct ibv_cq* const two[2] = {cq, ibv_create_cq(context, 16, NULL, NULL, 0)};
    for (unsigned i = 1; ibv_poll_cq(two[i >> 31], 1, &completion) == 0; i = i * 1664525 + 1013904223) continue;
  } else if (strcmp(argv[1], "ring") == 0) {
    struct ibv_cq* ring[4] = {cq};
    for (int i = 1; i < 4; ++i) ring[i] = ibv_create_cq(context, 16, NULL, NULL, 0);
    for (unsigned i = 0; ibv_poll_cq(ring[i % 4], 1, &completion) == 0; i = (i + 1) % 4) continue;
  } else if (strcmp(argv[1], "busy") == 0) {
    static volatile int flag;
    unsigned long random = 1;
    for (int told = 0; told < 400; ++told) {
      for (long i = 0; i < 10000000 && flag == 0; ++i) random = random * 6364136223846793005 + 1442695040888963407;
      printf("%lu\n", random);
      fflush(stdout);
    }
    return 0;
  } else if (strcmp(argv[1], "flag") == 0) {
    static volatile int flag;
    volatile int* volatile where = &flag;
    printf("%p\n", (void*)where);
    fflush(stdout);
    while (*where == 0) continue;  // the flag
  }
  puts("the loop has ended");
  return 1;
}

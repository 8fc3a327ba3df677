// A program that polls a completion queue without success, and counts its polls, is stopped and continued by
// its parent at many times, and prints the count at the end.
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/equality/moments.h"

enum { kTimes = 20 };

static unsigned long looks;

static int poll_until(const volatile int* is_over) {
  struct ibv_context* const context = ibv_open_device(ibv_get_device_list(NULL)[0]);
  struct ibv_cq* const cq = context == NULL ? NULL : ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_wc wc;
  if (cq == NULL) return 1;
  while (*is_over == 0) {
    if (ibv_poll_cq(cq, 1, &wc) != 0) return 1;
    ++looks;
  }
  printf("child: %lu looks, over at %lld\n", looks, now_ns());
  return 0;
}

int main(void) {
  volatile int* const is_over = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (is_over == MAP_FAILED) return 1;
  const pid_t child = fork();
  if (child == 0) return poll_until(is_over);
  nap(3000000);
  for (long i = 0; i < kTimes; ++i) {
    nap(10000 + 7 * i);
    kill(child, SIGSTOP);
    nap(5000 + 11 * i);
    kill(child, SIGCONT);
  }
  nap(10000);
  *is_over = 1;
  int status = 0;
  if (wait(&status) != child || status != 0) return 1;
  printf("parent: over at %lld\n", now_ns());
  return 0;
}

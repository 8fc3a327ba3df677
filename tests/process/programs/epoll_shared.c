// Two threads wait for one descriptor. One takes what is there; the other one waits on, until its own time is over.
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int epoll, event;

static void* wait_for_it(void* taken) {
  const int64_t began = now_ns();
  while (now_ns() - began < 300 * 1000000ll) {
    struct epoll_event found;
    uint64_t value;
    const int n = epoll_wait(epoll, &found, 1, 300);
    EXPECT(n == 0 || n == 1);
    if (n == 1 && read(event, &value, sizeof value) == sizeof value) ++*(int*)taken;
  }
  EXPECT(now_ns() - began < 5000 * 1000000ll);
  return NULL;
}

int main(void) {
  epoll = epoll_create1(EPOLL_CLOEXEC);
  event = eventfd(0, EFD_NONBLOCK);
  struct epoll_event wanted = {EPOLLIN, {.u64 = 1}};
  EXPECT(epoll >= 0 && event >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted) == 0);
  pthread_t threads[2];
  int taken[2] = {0, 0};
  for (int i = 0; i < 2; ++i) EXPECT(pthread_create(&threads[i], NULL, wait_for_it, &taken[i]) == 0);
  sleep_ms(50);
  EXPECT(eventfd_write(event, 1) == 0);
  for (int i = 0; i < 2; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
  printf("taken once: %d\n", taken[0] + taken[1] == 1);
  return 0;
}

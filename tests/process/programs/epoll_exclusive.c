// EPOLLEXCLUSIVE: of several instances that watch a file, a change wakes the waiter of one.
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kWaiters = 5 };
static int ends[2];
static int woken[kWaiters];
static pthread_barrier_t ready;

static void* wait_once(void* index) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLET | EPOLLEXCLUSIVE};
  const int epoll = epoll_create1(0);
  EXPECT(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
  pthread_barrier_wait(&ready);
  EXPECT(epoll_wait(epoll, &event, 1, -1) == 1);
  __atomic_store_n((int*)index, 1, __ATOMIC_SEQ_CST);
  EXPECT(close(epoll) == 0);
  return NULL;
}

static int sum(void) {
  int n = 0;
  for (int i = 0; i < kWaiters; ++i) n += __atomic_load_n(&woken[i], __ATOMIC_SEQ_CST);
  return n;
}

int main(void) {
  pthread_t threads[kWaiters];
  EXPECT(pipe(ends) == 0 && pthread_barrier_init(&ready, NULL, kWaiters + 1) == 0);
  for (int i = 0; i < kWaiters; ++i) EXPECT(pthread_create(&threads[i], NULL, wait_once, &woken[i]) == 0);
  pthread_barrier_wait(&ready);
  sleep_ms(20);
  for (int i = 0; i < kWaiters; ++i) {
    EXPECT(sum() == i && write(ends[1], "x", 1) == 1);
    sleep_ms(20);
  }
  for (int i = 0; i < kWaiters; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
  // An instance without EPOLLEXCLUSIVE learns of each change, before the others.
  const int plain = epoll_create1(0), exclusive = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE}, found;
  EXPECT(epoll_ctl(exclusive, EPOLL_CTL_ADD, ends[0], &event) == 0);
  event.events = EPOLLIN;
  EXPECT(epoll_ctl(plain, EPOLL_CTL_ADD, ends[0], &event) == 0);
  EXPECT(epoll_wait(plain, &found, 1, 0) == 1 && epoll_wait(exclusive, &found, 1, 0) == 1);
  printf("exclusive waiters: done\n");
  return 0;
}

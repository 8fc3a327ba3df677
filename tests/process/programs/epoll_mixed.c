// One epoll over a pipe, an eventfd, a timerfd, a socketpair and another epoll; level, edge, one-shot.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int set;
static void add(int fd, uint32_t events) {
  struct epoll_event event = {events, {.fd = fd}};
  EXPECT(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0);
}
static int ready_now(int fd) {
  struct epoll_event events[8];
  const int n = epoll_wait(set, events, 8, 0);
  for (int i = 0; i < n; ++i) {
    if (events[i].data.fd == fd) return 1;
  }
  return 0;
}

int main(void) {
  set = epoll_create1(0);
  int ends[2], pair[2];
  EXPECT(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  const int counter = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0), inner = epoll_create1(0);
  add(ends[0], EPOLLIN);
  add(counter, EPOLLIN | EPOLLET);
  add(timer, EPOLLIN | EPOLLONESHOT);
  add(pair[0], EPOLLIN | EPOLLRDHUP);
  struct epoll_event event = {EPOLLIN, {.fd = counter}};
  EXPECT(epoll_ctl(inner, EPOLL_CTL_ADD, counter, &event) == 0);
  add(inner, EPOLLIN);
  EXPECT(epoll_wait(set, &event, 1, 0) == 0);

  EXPECT(write(ends[1], "x", 1) == 1 && ready_now(ends[0]) && ready_now(ends[0]));
  char byte;
  EXPECT(read(ends[0], &byte, 1) == 1 && !ready_now(ends[0]));
  EXPECT(eventfd_write(counter, 1) == 0);
  EXPECT(ready_now(counter) && !ready_now(counter) && ready_now(inner));
  EXPECT(eventfd_write(counter, 1) == 0 && ready_now(counter) && !ready_now(counter));
  uint64_t value;
  EXPECT(read(counter, &value, 8) == 8 && value == 2 && !ready_now(inner));

  const struct itimerspec soon = {{0, 0}, {0, 5000000}};
  EXPECT(timerfd_settime(timer, 0, &soon, NULL) == 0);
  EXPECT(epoll_wait(set, &event, 1, -1) == 1 && event.data.fd == timer && !ready_now(timer));
  event.events = EPOLLIN;
  EXPECT(epoll_ctl(set, EPOLL_CTL_MOD, timer, &event) == 0 && ready_now(timer));

  EXPECT(send(pair[1], "y", 1, 0) == 1 && ready_now(pair[0]) && read(pair[0], &byte, 1) == 1);
  EXPECT(shutdown(pair[1], SHUT_WR) == 0 && ready_now(pair[0]));
  EXPECT(close(pair[0]) == 0 && !ready_now(pair[0]));
  EXPECT(epoll_ctl(set, EPOLL_CTL_ADD, 0, &event) == -1 && (errno == EPERM || errno == EEXIST));
  EXPECT(epoll_ctl(set, EPOLL_CTL_DEL, 99, NULL) == -1 && errno == EBADF);
  printf("epoll: done\n");
  return 0;
}

// Nested epoll sets: a wait on the outermost is woken by a change in the innermost, with epoll_wait, poll and
// select, level and edge triggered; the depth limit, and the ban on cycles.
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int add(int set, int fd, uint32_t events) {
  struct epoll_event event = {events, {.fd = fd}};
  return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

static int counter, number;

static void* raise_later(void* unused) {
  (void)unused;
  const uint64_t one = 1;
  usleep(20000);
  EXPECT(write(counter, &one, 8) == 8);
  return NULL;
}

static int wait_by_epoll(int set) {
  struct epoll_event event;
  return epoll_wait(set, &event, 1, 2000);
}
static int wait_by_poll(int set) {
  struct pollfd entry = {set, POLLIN, 0};
  return poll(&entry, 1, 2000);
}
static int wait_by_select(int set) {
  fd_set sets;
  FD_ZERO(&sets);
  FD_SET(set, &sets);
  struct timeval limit = {2, 0};
  return select(set + 1, &sets, NULL, NULL, &limit);
}
// Asks without waiting until there is something.
static int ask_by_poll(int set) {
  struct pollfd entry = {set, POLLIN, 0};
  for (int n = 0; n < 100000; ++n) {
    if (poll(&entry, 1, 0) == 1) return 1;
    usleep(100);
  }
  return 0;
}

// Result of `wait` on `set`, and whether it returned at the event rather than at the timeout.
static void hear(const char* name, int (*wait)(int), int set) {
  pthread_t thread;
  const int64_t start = now_ns();
  EXPECT(pthread_create(&thread, NULL, raise_later, NULL) == 0);
  const int found = wait(set);
  const int64_t waited = now_ns() - start;
  printf("%d %s: %d%s\n", ++number, name, found, waited < 1000000000 ? "" : ", late");
  EXPECT(pthread_join(thread, NULL) == 0);
  uint64_t value;
  EXPECT(read(counter, &value, 8) == 8);
}

int main(void) {
  int chain[6];
  counter = eventfd(0, 0);
  for (int i = 0; i < 6; ++i) chain[i] = epoll_create1(0);
  EXPECT(add(chain[0], counter, EPOLLIN) == 0);
  hear("poll", wait_by_poll, chain[0]);
  hear("select", wait_by_select, chain[0]);
  hear("poll without waiting", ask_by_poll, chain[0]);
  int depth = 0;
  while (depth < 5 && add(chain[depth + 1], chain[depth], EPOLLIN) == 0) {
    ++depth;
    hear("epoll_wait", wait_by_epoll, chain[depth]);
    hear("poll", wait_by_poll, chain[depth]);
  }
  printf("nested %d deep, then %s\n", depth, strerrorname_np(errno));
  EXPECT(add(chain[0], chain[0], EPOLLIN) == -1 && errno == EINVAL);
  EXPECT(add(chain[0], chain[1], EPOLLIN) == -1 && errno == ELOOP);
  EXPECT(add(chain[0], chain[2], EPOLLIN) == -1 && errno == ELOOP);

  // An instance that is let go of makes room, and may watch who watched it.
  EXPECT(epoll_ctl(chain[2], EPOLL_CTL_DEL, chain[1], NULL) == 0 && add(chain[0], chain[2], EPOLLIN) == 0);
  EXPECT(epoll_ctl(chain[0], EPOLL_CTL_DEL, chain[2], NULL) == 0);
  close(chain[1]);
  EXPECT(add(chain[2], chain[0], EPOLLIN) == 0);
  hear("epoll_wait", wait_by_epoll, chain[2]);

  // Edges: once for each change below, also while what is below stays ready.
  const int outer = epoll_create1(0);
  const uint64_t one = 1;
  EXPECT(add(outer, chain[0], EPOLLIN | EPOLLET) == 0);
  hear("edge", wait_by_epoll, outer);
  struct epoll_event event;
  EXPECT(write(counter, &one, 8) == 8 && epoll_wait(outer, &event, 1, 0) == 1 && epoll_wait(outer, &event, 1, 0) == 0);
  EXPECT(write(counter, &one, 8) == 8 && epoll_wait(outer, &event, 1, 0) == 1 && epoll_wait(outer, &event, 1, 0) == 0);

  // A set that contains another one many times.
  const int wide = epoll_create1(0);
  for (int i = 0; i < 100; ++i) EXPECT(add(wide, dup(chain[0]), EPOLLIN) == 0);
  struct epoll_event events[128];
  EXPECT(epoll_wait(wide, events, 128, 0) == 100);
  printf("done\n");
  return 0;
}

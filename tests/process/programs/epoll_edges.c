// epoll: level, edge, one-shot, changed and removed entries, nested sets, closed descriptors, several
// waiters.
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int epoll;

static void add(int set, int fd, uint32_t events, uint64_t data) {
  struct epoll_event event = {events, {.u64 = data}};
  EXPECT(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0);
}

static int ready(int set, struct epoll_event* events) { return epoll_wait(set, events, 8, 0); }

static void* wait_once(void* argument) {
  struct epoll_event event;
  EXPECT(epoll_wait(epoll, &event, 1, 5000) == 1);
  *(uint64_t*)argument = event.data.u64;
  return NULL;
}

int main(void) {
  epoll = epoll_create1(EPOLL_CLOEXEC);
  int level[2], edge[2];
  struct epoll_event events[8];
  char bytes[16];
  EXPECT(pipe(level) == 0 && pipe(edge) == 0);
  add(epoll, level[0], EPOLLIN, 1);
  add(epoll, edge[0], EPOLLIN | EPOLLET, 2);
  EXPECT(ready(epoll, events) == 0 && write(level[1], "abc", 3) == 3 && write(edge[1], "abc", 3) == 3);
  printf("first: %d", ready(epoll, events));
  printf(", then the level alone: %d %d", ready(epoll, events), (int)events[0].data.u64);
  EXPECT(read(edge[0], bytes, 1) == 1);
  printf(", reading a part is no edge: %d", ready(epoll, events));
  EXPECT(write(edge[1], "d", 1) == 1);
  printf(", more is: %d\n", ready(epoll, events));
  EXPECT(read(level[0], bytes, 16) == 3 && ready(epoll, events) == 0);

  const int once = eventfd(5, EFD_NONBLOCK);
  add(epoll, once, EPOLLIN | EPOLLONESHOT, 3);
  EXPECT(ready(epoll, events) == 1 && events[0].data.u64 == 3 && ready(epoll, events) == 0);
  struct epoll_event again = {EPOLLIN | EPOLLONESHOT, {.u64 = 33}};
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_MOD, once, &again) == 0);
  EXPECT(ready(epoll, events) == 1 && events[0].data.u64 == 33);
  printf("one-shot: once, and once more when changed\n");

  // A result that cannot be written consumes nothing; if a part can be written, that part is consumed.
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_MOD, once, &again) == 0);
  struct epoll_event* volatile nowhere = (struct epoll_event*)8;
  EXPECT(epoll_wait(epoll, nowhere, 8, 0) == -1 && errno == EFAULT);
  EXPECT(ready(epoll, events) == 1 && events[0].data.u64 == 33 && ready(epoll, events) == 0);
  const int second = eventfd(5, EFD_NONBLOCK);
  char* const pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(munmap(pages + 4096, 4096) == 0 && epoll_ctl(epoll, EPOLL_CTL_MOD, once, &again) == 0);
  add(epoll, second, EPOLLIN | EPOLLONESHOT, 44);
  struct epoll_event* volatile at_end = (struct epoll_event*)(pages + 4096) - 1;
  EXPECT(epoll_wait(epoll, at_end, 2, 0) == 1);
  EXPECT(ready(epoll, events) == 1 && events[0].data.u64 + at_end->data.u64 == 77 && ready(epoll, events) == 0);
  EXPECT(close(second) == 0 && munmap(pages, 4096) == 0);
  printf("an answer that cannot be written: nothing is lost\n");

  const int outer = epoll_create1(0);
  add(outer, epoll, EPOLLIN, 9);
  EXPECT(ready(outer, events) == 0 && write(level[1], "x", 1) == 1);
  EXPECT(ready(outer, events) == 1 && events[0].data.u64 == 9 && ready(epoll, events) == 1 &&
         events[0].data.u64 == 1);
  printf("nested: ready with its inner set\n");
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, level[0], &again) == -1 && errno == EEXIST);
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_DEL, level[0], NULL) == 0 && ready(epoll, events) == 0);
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_DEL, level[0], NULL) == -1 && errno == ENOENT);
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_MOD, level[0], &again) == -1 && errno == ENOENT);
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, epoll, &again) == -1 && errno == EINVAL);
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, 999, &again) == -1 && errno == EBADF);
  int pair[2];
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  add(epoll, pair[0], EPOLLIN | EPOLLRDHUP, 4);
  EXPECT(shutdown(pair[1], SHUT_WR) == 0 && ready(epoll, events) == 1);
  printf("half closed: %d\n", events[0].events == (EPOLLIN | EPOLLRDHUP));
  EXPECT(close(pair[1]) == 0 && ready(epoll, events) == 1);
  printf("closed: hang-up %d\n", (events[0].events & EPOLLHUP) != 0);
  EXPECT(close(pair[0]) == 0 && ready(epoll, events) == 0);
  pthread_t threads[2];
  uint64_t got[2] = {0, 0};
  for (int i = 0; i < 2; ++i) EXPECT(pthread_create(&threads[i], NULL, wait_once, &got[i]) == 0);
  sleep_ms(20);
  EXPECT(write(edge[1], "e", 1) == 1);
  sleep_ms(20);
  EXPECT(write(edge[1], "f", 1) == 1);
  for (int i = 0; i < 2; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
  printf("two waiters, two edges: %d %d\n", (int)got[0], (int)got[1]);
  return 0;
}

// The order in which epoll reports ready files, fairness if more are ready than fit, and errors of its calls.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

enum { kPipes = 6 };
static int ends[kPipes][2], epoll;

static void add(int i, uint32_t events) {
  struct epoll_event event = {.events = events, .data.u64 = (uint64_t)i};
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[i][0], &event) == 0);
}
static void fill(int i) { EXPECT(write(ends[i][1], "x", 1) == 1); }
static void drain(int i) {
  char byte;
  EXPECT(read(ends[i][0], &byte, 1) == 1);
}
static void print_ready(const char* when, int room) {
  struct epoll_event found[kPipes];
  const int n = epoll_wait(epoll, found, room, 0);
  printf("%s:", when);
  for (int i = 0; i < n; ++i) printf(" %d", (int)found[i].data.u64);
  printf("\n");
}

static int error_of(int result) { return result < 0 ? errno : 0; }

static void check_errors(void) {
  struct epoll_event event = {.events = EPOLLIN};
  struct epoll_event exclusive = {.events = EPOLLIN | EPOLLEXCLUSIVE}, bad = {.events = EPOLLRDHUP | EPOLLEXCLUSIVE};
  const int file = open("/proc/self/maps", O_RDONLY), named = open("/tmp", O_PATH), sockets = socket(AF_UNIX, SOCK_STREAM, 0);
  const int regular = open("/proc/self/exe", O_RDONLY), other = epoll_create1(0);
  EXPECT(file >= 0 && named >= 0 && sockets >= 0 && regular >= 0 && other >= 0);
  EXPECT(error_of(epoll_create(-1)) == EINVAL && error_of(epoll_create(0)) == EINVAL);
  EXPECT(error_of(epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event)) == EPERM);
  EXPECT(error_of(epoll_ctl(epoll, EPOLL_CTL_ADD, regular, &event)) == EPERM);
  EXPECT(error_of(epoll_ctl(epoll, EPOLL_CTL_ADD, named, &event)) == EBADF);
  EXPECT(error_of(epoll_ctl(epoll, EPOLL_CTL_ADD, -1, &event)) == EBADF);
  EXPECT(error_of(epoll_ctl(epoll, EPOLL_CTL_ADD, epoll, &event)) == EINVAL);
  EXPECT(error_of(epoll_ctl(sockets, EPOLL_CTL_ADD, ends[0][0], &event)) == EINVAL);
  EXPECT(error_of(epoll_ctl(-1, EPOLL_CTL_ADD, -1, NULL)) == EFAULT);
  EXPECT(error_of(epoll_ctl(epoll, EPOLL_CTL_ADD, sockets, &bad)) == EINVAL);
  EXPECT(error_of(epoll_ctl(epoll, EPOLL_CTL_ADD, other, &exclusive)) == EINVAL);
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, sockets, &exclusive) == 0);
  EXPECT(error_of(epoll_ctl(epoll, EPOLL_CTL_MOD, sockets, &event)) == EINVAL);
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_DEL, sockets, NULL) == 0);
  EXPECT(error_of(epoll_wait(regular, &event, 1, 0)) == EINVAL && error_of(epoll_wait(sockets, &event, 1, 0)) == EINVAL);
  EXPECT(error_of(epoll_wait(named, &event, 1, 0)) == EBADF);
  static struct epoll_event many[100000];
  EXPECT(epoll_wait(other, many, 100000, 0) == 0);
}

int main(void) {
  EXPECT((epoll = epoll_create1(0)) >= 0);
  for (int i = 0; i < kPipes; ++i) {
    EXPECT(pipe(ends[i]) == 0);
    add(i, i == 5 ? EPOLLIN | EPOLLET : EPOLLIN);
  }
  const int filled[] = {4, 1, 5, 3};
  for (int i = 0; i < 4; ++i) fill(filled[i]);
  print_ready("in order of arrival", kPipes);
  print_ready("again", kPipes);
  for (int i = 0; i < 4; ++i) print_ready("one at a time", 1);
  fill(2);
  fill(5);
  fill(4);
  print_ready("two more", 2);
  print_ready("and then", 2);
  print_ready("all", kPipes);
  drain(1);
  drain(4);
  drain(4);
  fill(1);
  print_ready("one left and one that came back", kPipes);
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = 3};
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_MOD, ends[3][0], &event) == 0);
  print_ready("after a change", kPipes);
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_DEL, ends[3][0], NULL) == 0);
  add(3, EPOLLIN | EPOLLONESHOT);
  print_ready("added again", kPipes);
  print_ready("once", kPipes);
  check_errors();
  return 0;
}

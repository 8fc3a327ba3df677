// Non-blocking connect: in progress, writable when done, refused; accept4 and its flags; SO_ERROR is returned
// once.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int error_of(int s) {
  int error = -1;
  socklen_t size = sizeof error;
  EXPECT(getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &size) == 0);
  return error;
}

int main(void) {
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof name;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  EXPECT(bind(listener, (struct sockaddr*)&name, sizeof name) == 0);
  EXPECT(getsockname(listener, (struct sockaddr*)&name, &size) == 0);
  EXPECT(accept(listener, NULL, NULL) == -1 && errno == EINVAL);
  int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  int result = connect(s, (struct sockaddr*)&name, sizeof name);
  EXPECT(result == -1 && (errno == EINPROGRESS || errno == ECONNREFUSED));
  struct pollfd entry = {s, POLLOUT, 0};
  if (errno == EINPROGRESS) {
    EXPECT(poll(&entry, 1, 1000) == 1 && (entry.revents & (POLLERR | POLLHUP)) != 0);
    EXPECT(error_of(s) == ECONNREFUSED && error_of(s) == 0);
  }
  printf("nobody listens: refused\n");
  EXPECT(close(s) == 0 && listen(listener, 8) == 0);
  EXPECT(accept(listener, NULL, NULL) == -1 && errno == EAGAIN);
  s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  result = connect(s, (struct sockaddr*)&name, sizeof name);
  EXPECT(result == 0 || errno == EINPROGRESS);
  const int epoll = epoll_create1(0);
  struct epoll_event event = {EPOLLOUT | EPOLLONESHOT, {.u64 = 77}};
  EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, s, &event) == 0);
  EXPECT(epoll_wait(epoll, &event, 1, 1000) == 1 && event.data.u64 == 77 && (event.events & EPOLLOUT) != 0);
  EXPECT(epoll_wait(epoll, &event, 1, 0) == 0 && error_of(s) == 0);
  entry = (struct pollfd){listener, POLLIN, 0};
  EXPECT(poll(&entry, 1, 1000) == 1);
  struct sockaddr_in peer, own;
  size = sizeof peer;
  const int accepted = accept4(listener, (struct sockaddr*)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  EXPECT(accepted >= 0 && (fcntl(accepted, F_GETFL) & O_NONBLOCK) != 0 &&
         (fcntl(accepted, F_GETFD) & FD_CLOEXEC) != 0);
  size = sizeof own;
  EXPECT(getsockname(s, (struct sockaddr*)&own, &size) == 0 && own.sin_port == peer.sin_port);
  EXPECT(result == 0 ||
         connect(s, (struct sockaddr*)&name, sizeof name) == 0);  // the first call since then returns it
  EXPECT(connect(s, (struct sockaddr*)&name, sizeof name) == -1 && errno == EISCONN);
  char c;
  EXPECT(read(accepted, &c, 1) == -1 && errno == EAGAIN && write(s, "!", 1) == 1);
  entry.fd = accepted;
  EXPECT(poll(&entry, 1, 1000) == 1 && read(accepted, &c, 1) == 1 && c == '!');
  printf("connected: both ends agree\n");
  EXPECT(close(s) == 0 && close(accepted) == 0 && close(listener) == 0);
  return 0;
}

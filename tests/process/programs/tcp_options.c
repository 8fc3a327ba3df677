// Options of TCP sockets, timeouts, closing with a reset.
#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int option(int fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT(getsockopt(fd, level, name, &value, &size) == 0 && size == sizeof value);
  return value;
}

int main(void) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  struct sockaddr_in name = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
  socklen_t size = sizeof name;
  printf("type %d domain %d protocol %d accepting %d nodelay %d reuse %d keepalive %d\n",
         option(listener, SOL_SOCKET, SO_TYPE), option(listener, SOL_SOCKET, SO_DOMAIN),
         option(listener, SOL_SOCKET, SO_PROTOCOL), option(listener, SOL_SOCKET, SO_ACCEPTCONN),
         option(listener, IPPROTO_TCP, TCP_NODELAY), option(listener, SOL_SOCKET, SO_REUSEADDR),
         option(listener, SOL_SOCKET, SO_KEEPALIVE));
  EXPECT(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
  EXPECT(setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0);
  EXPECT(setsockopt(listener, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) == 0);
  EXPECT(bind(listener, (struct sockaddr*)&name, sizeof name) == 0 && listen(listener, INT_MAX) == 0);
  EXPECT(getsockname(listener, (struct sockaddr*)&name, &size) == 0);
  printf("accepting %d nodelay %d reuse %d keepalive %d\n", option(listener, SOL_SOCKET, SO_ACCEPTCONN),
         option(listener, IPPROTO_TCP, TCP_NODELAY) != 0, option(listener, SOL_SOCKET, SO_REUSEADDR),
         option(listener, SOL_SOCKET, SO_KEEPALIVE));
  EXPECT(accept(0, NULL, NULL) == -1 && errno == ENOTSOCK);
  const int bytes = 1 << 20;  // beyond the limits of the machine: for those who may administer the network only
  EXPECT(setsockopt(listener, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) == 0 || errno == EPERM);
  EXPECT(setsockopt(listener, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) == 0 || errno == EPERM);
  const struct timeval limit = {0, 20000};
  EXPECT(setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
  EXPECT(accept(listener, NULL, NULL) == -1 && errno == EAGAIN);

  const int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const int result = connect(client, (struct sockaddr*)&name, sizeof name);
  EXPECT(result == 0 || errno == EINPROGRESS);
  struct pollfd ready = {client, POLLOUT, 0};
  EXPECT(poll(&ready, 1, 1000) == 1 && option(client, SOL_SOCKET, SO_ERROR) == 0);
  const int server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  EXPECT(server >= 0);
  const struct linger hard = {1, 0};
  EXPECT(setsockopt(server, SOL_SOCKET, SO_LINGER, &hard, sizeof hard) == 0 && close(server) == 0);
  ready.events = POLLIN;
  char byte;
  EXPECT(poll(&ready, 1, 1000) == 1 && read(client, &byte, 1) == -1 && errno == ECONNRESET);
  EXPECT(close(listener) == 0);
  const int late = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(connect(late, (struct sockaddr*)&name, sizeof name) == -1 && errno == ECONNREFUSED);
  return 0;
}

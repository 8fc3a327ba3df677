// A TCP socket that connects again: after a failure, and after connect(2) with AF_UNSPEC has dissolved its connection.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

static const struct sockaddr kNone = {.sa_family = AF_UNSPEC};
static struct sockaddr_in at = {.sin_family = AF_INET};

static int error_of(long result) { return result < 0 ? errno : 0; }

static int pending_error(int fd) {
  int error;
  socklen_t size = sizeof error;
  EXPECT(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0);
  return error;
}
static int port_of(int fd) {
  struct sockaddr_in name;
  socklen_t size = sizeof name;
  EXPECT(getsockname(fd, (struct sockaddr*)&name, &size) == 0);
  return ntohs(name.sin_port);
}
static int listen_at(void) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  socklen_t size = sizeof at;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = 0;
  EXPECT(bind(fd, (struct sockaddr*)&at, size) == 0 && listen(fd, 4) == 0 && getsockname(fd, (struct sockaddr*)&at, &size) == 0);
  return fd;
}
static int connect_to(int fd) { return error_of(connect(fd, (struct sockaddr*)&at, sizeof at)); }

int main(void) {
  char byte;
  // The port is free at first; the same socket connects once somebody listens there.
  int server = listen_at();
  const struct sockaddr_in place = at;
  EXPECT(close(server) == 0);
  int client = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(connect_to(client) == ECONNREFUSED && pending_error(client) == 0);
  EXPECT(error_of(recv(client, &byte, 1, 0)) == ENOTCONN);
  server = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(bind(server, (const struct sockaddr*)&place, sizeof place) == 0 && listen(server, 4) == 0);
  EXPECT(connect_to(client) == 0 && connect_to(client) == EISCONN);
  int accepted = accept(server, NULL, NULL);
  EXPECT(accepted >= 0);

  // Dissolved: the peer sees a reset, and the socket can connect again.
  EXPECT(connect(client, &kNone, sizeof kNone) == 0 && pending_error(client) == ECONNRESET);
  sleep_ms(5);
  EXPECT(error_of(recv(accepted, &byte, 1, 0)) == ECONNRESET && connect_to(accepted) == EISCONN && close(accepted) == 0);
  EXPECT(error_of(send(client, "x", 1, MSG_NOSIGNAL)) == EPIPE);
  EXPECT(connect_to(client) == 0 && send(client, "y", 1, 0) == 1);
  EXPECT((accepted = accept(server, NULL, NULL)) >= 0 && recv(accepted, &byte, 1, 0) == 1 && byte == 'y');
  EXPECT(recv(accepted, &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);

  // The accepted socket becomes a listener.
  EXPECT(connect(accepted, &kNone, sizeof kNone) == 0 && listen(accepted, 1) == 0);
  const int port = port_of(accepted);
  EXPECT(port != 0 && port != ntohs(place.sin_port));
  // A listener stops, but keeps the port that bind() has named.
  EXPECT(connect(server, &kNone, sizeof kNone) == 0 && port_of(server) == ntohs(place.sin_port));
  EXPECT(error_of(accept(server, NULL, NULL)) == EINVAL);
  EXPECT(close(client) == 0 && (client = socket(AF_INET, SOCK_STREAM, 0)) >= 0 && connect_to(client) == ECONNREFUSED);
  EXPECT(listen(server, 1) == 0 && connect_to(client) == 0);

  // Nonblocking: the second connect() reports the failure, the third one starts anew.
  const int late = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  EXPECT(close(server) == 0 && close(client) == 0 && connect_to(late) == EINPROGRESS);
  struct pollfd entry = {.fd = late, .events = POLLOUT};
  EXPECT(poll(&entry, 1, -1) == 1 && pending_error(late) == ECONNREFUSED);
  EXPECT(connect_to(late) == ECONNABORTED && connect_to(late) == EINPROGRESS);

  // Groups are those of a socket, not of the sockets that it accepts. Reserved ports need a capability.
  server = listen_at();
  const struct ip_mreq old_group = {{htonl(0xe0000101)}, {htonl(INADDR_ANY)}};
  EXPECT(error_of(setsockopt(server, IPPROTO_IP, IP_ADD_MEMBERSHIP, &old_group, sizeof old_group)) == EPROTO);
  struct group_req group = {.gr_interface = 1};
  const struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(0xe0000101)}};
  memcpy(&group.gr_group, &address, sizeof address);
  EXPECT(setsockopt(server, IPPROTO_IP, MCAST_JOIN_GROUP, &group, sizeof group) == 0);
  EXPECT((client = socket(AF_INET, SOCK_STREAM, 0)) >= 0 && connect_to(client) == 0);
  EXPECT((accepted = accept(server, NULL, NULL)) >= 0);
  EXPECT(error_of(setsockopt(accepted, IPPROTO_IP, MCAST_LEAVE_GROUP, &group, sizeof group)) == EADDRNOTAVAIL);
  EXPECT(setsockopt(server, IPPROTO_IP, MCAST_LEAVE_GROUP, &group, sizeof group) == 0);
  printf("connections made again: done\n");
  return 0;
}

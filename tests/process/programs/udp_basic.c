// Datagrams over the loopback addresses: names, connected sockets, peeking, truncation, timeouts.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(void) {
  const int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP);
  struct sockaddr_in name = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}}, from;
  socklen_t size = sizeof name;
  EXPECT(bind(a, (struct sockaddr*)&name, sizeof name) == 0 &&
         getsockname(a, (struct sockaddr*)&name, &size) == 0);
  // The length of a name can be queried without space for it, as libfabric does; the length's address must be valid.
  socklen_t length = 0, negative = (socklen_t)-1;
  EXPECT(getsockname(a, NULL, &length) == 0 && length == sizeof name);
  EXPECT(getsockname(a, NULL, &length) == -1 && errno == EFAULT);
  EXPECT(getsockname(a, (struct sockaddr*)&name, NULL) == -1 && errno == EFAULT);
  EXPECT(getsockname(a, (struct sockaddr*)&name, &negative) == -1 && errno == EINVAL);
  EXPECT(name.sin_port != 0 && bind(b, (struct sockaddr*)&name, sizeof name) == -1 && errno == EADDRINUSE);
  EXPECT(send(b, "x", 1, 0) == -1 && errno == EDESTADDRREQ);
  EXPECT(sendto(b, "hello", 5, 0, (struct sockaddr*)&name, sizeof name) == 5);
  EXPECT(sendto(b, "", 0, 0, (struct sockaddr*)&name, sizeof name) == 0);
  EXPECT(sendto(b, "more than fits", 14, 0, (struct sockaddr*)&name, sizeof name) == 14);
  char bytes[16];
  size = sizeof from;
  EXPECT(recvfrom(a, bytes, 16, MSG_PEEK, (struct sockaddr*)&from, &size) == 5);
  EXPECT(size == sizeof from && from.sin_family == AF_INET && from.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
  length = 0;
  EXPECT(recvfrom(a, bytes, 16, MSG_PEEK, (struct sockaddr*)1, &length) == 5 && length == sizeof from);
  EXPECT(recvfrom(a, bytes, 16, 0, NULL, NULL) == 5 && memcmp(bytes, "hello", 5) == 0);
  EXPECT(recv(a, bytes, 16, 0) == 0);
  EXPECT(recv(a, bytes, 4, MSG_TRUNC) == 14 && memcmp(bytes, "more", 4) == 0);
  EXPECT(connect(a, (struct sockaddr*)&from, sizeof from) == 0 && send(a, "back", 4, 0) == 4);
  struct pollfd ready = {b, POLLIN, 0};
  EXPECT(poll(&ready, 1, 1000) == 1 && read(b, bytes, 16) == 4 && read(b, bytes, 16) == -1 &&
         errno == EAGAIN);
  size = sizeof from;
  EXPECT(getpeername(a, (struct sockaddr*)&from, &size) == 0);

  // The receiver is gone: the connected sender gets an error.
  EXPECT(close(b) == 0 && send(a, "x", 1, 0) == 1);
  ready = (struct pollfd){a, POLLIN, 0};
  EXPECT(poll(&ready, 1, 1000) == 1 && (ready.revents & POLLERR) != 0);
  EXPECT(recv(a, bytes, 16, 0) == -1 && errno == ECONNREFUSED);

  const struct timeval limit = {0, 30000};
  EXPECT(setsockopt(a, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
  const int64_t start = now_ns();
  EXPECT(recv(a, bytes, 16, 0) == -1 && errno == EAGAIN && now_ns() - start >= 29000000);
  static char large[70000];
  EXPECT(send(a, large, sizeof large, 0) == -1 && errno == EMSGSIZE);
  printf("udp: done\n");
  return 0;
}

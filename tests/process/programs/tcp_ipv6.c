// IPv6 listeners for their own family only or for both, and the address of an IPv4 client.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int listener_on(int only, uint16_t* port) {
  const int fd = socket(AF_INET6, SOCK_STREAM, 0);
  EXPECT(fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only) == 0);
  struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
  socklen_t size = sizeof name;
  EXPECT(bind(fd, (struct sockaddr*)&name, sizeof name) == 0 && listen(fd, 5) == 0);
  EXPECT(getsockname(fd, (struct sockaddr*)&name, &size) == 0 && size == sizeof name);
  *port = name.sin6_port;
  return fd;
}

int main(void) {
  uint16_t port;
  char text[64];
  int listener = listener_on(0, &port);
  const int old = socket(AF_INET, SOCK_STREAM, 0), fresh = socket(AF_INET6, SOCK_STREAM, 0);
  const struct sockaddr_in four = {AF_INET, port, {htonl(INADDR_LOOPBACK)}, {0}};
  const struct sockaddr_in6 six = {
      .sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  EXPECT(connect(old, (struct sockaddr*)&four, sizeof four) == 0);
  EXPECT(connect(fresh, (struct sockaddr*)&six, sizeof six) == 0);
  for (int i = 0; i < 2; ++i) {
    struct sockaddr_in6 from, own;
    socklen_t size = sizeof from;
    const int s = accept(listener, (struct sockaddr*)&from, &size);
    EXPECT(s >= 0 && size == sizeof from && from.sin6_family == AF_INET6);
    printf("from %s", inet_ntop(AF_INET6, &from.sin6_addr, text, sizeof text));
    size = sizeof own;
    EXPECT(getsockname(s, (struct sockaddr*)&own, &size) == 0);
    printf(" to %s\n", inet_ntop(AF_INET6, &own.sin6_addr, text, sizeof text));
    EXPECT(write(s, "hi", 2) == 2 && read(i == 0 ? old : fresh, text, 8) == 2);
    close(s);
  }
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in any = {AF_INET, port, {INADDR_ANY}, {0}};
  EXPECT(bind(taken, (struct sockaddr*)&any, sizeof any) == -1 && errno == EADDRINUSE);
  close(listener);
  listener = listener_on(1, &port);
  any.sin_port = port;
  EXPECT(bind(taken, (struct sockaddr*)&any, sizeof any) == 0);
  const int refused = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in again = four;
  again.sin_port = port;
  EXPECT(connect(refused, (struct sockaddr*)&again, sizeof again) == -1 && errno == ECONNREFUSED);
  const struct sockaddr_in6 mapped = {
      .sin6_family = AF_INET6,
      .sin6_port = port,
      .sin6_addr = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}}}};
  const int both = socket(AF_INET6, SOCK_STREAM, 0);
  EXPECT(listen(taken, 1) == 0 && connect(both, (struct sockaddr*)&mapped, sizeof mapped) == 0);
  EXPECT(connect(both, (struct sockaddr*)&mapped, 12) == -1);
  printf("ipv6: done\n");
  return 0;
}

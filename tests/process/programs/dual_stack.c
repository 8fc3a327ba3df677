// One listener for both families: an IPv4 peer has a mapped address; with IPV6_V6ONLY another listener can
// serve IPv4.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int listening(int family, int only, uint16_t port) {
  const int s = socket(family, SOCK_STREAM, 0), on = 1;
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = port};
  struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = port};
  EXPECT(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
  if (family == AF_INET6) EXPECT(setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only) == 0);
  const struct sockaddr* const name = family == AF_INET6 ? (struct sockaddr*)&six : (struct sockaddr*)&four;
  if (bind(s, name, family == AF_INET6 ? sizeof six : sizeof four) != 0 || listen(s, 4) != 0) {
    const int error = errno;
    close(s);
    errno = error;
    return -1;
  }
  return s;
}

static void call(int listener, int family, uint16_t port) {
  const int s = socket(family, SOCK_STREAM, 0);
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  struct sockaddr_in four = {
      .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const struct sockaddr* const to = family == AF_INET6 ? (struct sockaddr*)&six : (struct sockaddr*)&four;
  EXPECT(connect(s, to, family == AF_INET6 ? sizeof six : sizeof four) == 0);
  struct sockaddr_storage peer;
  socklen_t size = sizeof peer;
  const int accepted = accept(listener, (struct sockaddr*)&peer, &size);
  EXPECT(accepted >= 0);
  char text[64];
  if (peer.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &((struct sockaddr_in6*)&peer)->sin6_addr, text, sizeof text);
  } else {
    inet_ntop(AF_INET, &((struct sockaddr_in*)&peer)->sin_addr, text, sizeof text);
  }
  printf("%s calls: %s\n", family == AF_INET6 ? "IPv6" : "IPv4", text);
  EXPECT(close(accepted) == 0 && close(s) == 0);
}

int main(void) {
  const int both = listening(AF_INET6, 0, 0);
  EXPECT(both >= 0);
  struct sockaddr_in6 name;
  socklen_t size = sizeof name;
  EXPECT(getsockname(both, (struct sockaddr*)&name, &size) == 0);
  call(both, AF_INET, name.sin6_port);
  call(both, AF_INET6, name.sin6_port);
  EXPECT(listening(AF_INET, 0, name.sin6_port) == -1);
  printf("the port of both: %s\n", strerrorname_np(errno));
  EXPECT(close(both) == 0);
  const int six = listening(AF_INET6, 1, 0);
  EXPECT(getsockname(six, (struct sockaddr*)&name, &size) == 0);
  const int four = listening(AF_INET, 0, name.sin6_port);
  EXPECT(four >= 0);
  call(six, AF_INET6, name.sin6_port);
  call(four, AF_INET, name.sin6_port);
  EXPECT(close(six) == 0 && close(four) == 0);
  return 0;
}

// Errors of socket options: levels that a socket does not have, and lengths.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int error_of_get(int fd, int level, int option) {
  int value;
  socklen_t size = sizeof value;
  return getsockopt(fd, level, option, &value, &size) == 0 ? 0 : errno;
}

static int error_of_set(int fd, int level, int option) {
  const int value = 1;
  return setsockopt(fd, level, option, &value, sizeof value) == 0 ? 0 : errno;
}

int main(void) {
  const int tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);
  const int local = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT(tcp >= 0 && udp >= 0 && local >= 0);
  EXPECT(error_of_get(tcp, 500, 1) == EOPNOTSUPP && error_of_get(tcp, IPPROTO_UDP, SO_OOBINLINE) == EOPNOTSUPP);
  EXPECT(error_of_get(udp, 500, 1) == EOPNOTSUPP && error_of_get(udp, IPPROTO_TCP, TCP_NODELAY) == EOPNOTSUPP);
  EXPECT(error_of_get(tcp, IPPROTO_IP, -1) == ENOPROTOOPT && error_of_get(tcp, IPPROTO_TCP, -1) == ENOPROTOOPT);
  EXPECT(error_of_get(tcp, IPPROTO_TCP, TCP_NODELAY) == 0);
  EXPECT(error_of_get(local, IPPROTO_TCP, TCP_NODELAY) == EOPNOTSUPP);
  EXPECT(error_of_set(local, IPPROTO_TCP, TCP_NODELAY) == EOPNOTSUPP);
  // A bad length is found before the error is taken.
  const struct sockaddr_in nobody = {.sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  EXPECT(connect(udp, (const struct sockaddr*)&nobody, sizeof nobody) == 0 && send(udp, "x", 1, 0) == 1);
  int value = 0;
  socklen_t size = -1;
  EXPECT(getsockopt(udp, SOL_SOCKET, SO_ERROR, &value, &size) == -1 && errno == EINVAL);
  EXPECT(getsockopt(udp, SOL_SOCKET, SO_ERROR, &value, NULL) == -1 && errno == EFAULT);
  sleep_ms(10);
  size = sizeof value;
  EXPECT(getsockopt(udp, SOL_SOCKET, SO_ERROR, &value, &size) == 0 && value == ECONNREFUSED);
  printf("options: done\n");
  return 0;
}

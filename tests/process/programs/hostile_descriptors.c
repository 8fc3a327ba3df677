// A program that closes every descriptor number with every call that can, opens 500 sockets, and runs out of
// numbers.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/process/expect.h"

int main(void) {
  for (int fd = 3; fd < 70000; ++fd) close(fd);
  EXPECT(syscall(SYS_close_range, 3, ~0u, 0) == 0);
  for (int fd = 1023; fd >= 3; --fd) EXPECT(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
  const int64_t start = now_ns();
  EXPECT(start > 0 && getpid() > 0);
  enum { kSockets = 500 };
  int sockets[kSockets];
  for (int i = 0; i < kSockets; ++i) {
    sockets[i] = socket(i % 2 ? AF_INET : AF_INET6, i % 3 ? SOCK_STREAM : SOCK_DGRAM, 0);
    EXPECT(sockets[i] == 3 + i);
  }
  struct pollfd set[kSockets];
  for (int i = 0; i < kSockets; ++i) set[i] = (struct pollfd){sockets[i], POLLOUT, 0};
  printf("500 sockets: %d can be told about\n", poll(set, kSockets, 0) > 0);
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof name;
  EXPECT(bind(sockets[1], (struct sockaddr*)&name, sizeof name) == 0 && listen(sockets[1], 300) == 0);
  EXPECT(getsockname(sockets[1], (struct sockaddr*)&name, &size) == 0);
  int connected = 0;
  for (int i = 5; i < kSockets; i += 2) {
    if (i % 3 != 0) connected += connect(sockets[i], (struct sockaddr*)&name, sizeof name) == 0;
  }
  printf("connected to one of them: %d\n", connected);
  for (int i = 0; i < connected; ++i) EXPECT(accept(sockets[1], NULL, NULL) >= 0);
  const struct rlimit limit = {900, 900};
  EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  for (int fd = 3; fd < 2000; ++fd) close(fd);
  int opened = 0;
  while (open("/dev/null", O_RDONLY) >= 0) ++opened;
  printf("files until there is no number left: %d, %s\n", opened, strerrorname_np(errno));
  return 0;
}

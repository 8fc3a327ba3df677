// IP_RECVERR and IPV6_RECVERR: errors of datagrams that no socket receives, read with MSG_ERRQUEUE.
#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int poll_for(int fd, int ms) {
  struct pollfd ready = {fd, POLLIN, 0};
  return poll(&ready, 1, ms) < 0 ? -1 : ready.revents;
}

// Prints an error of the queue; false: it is empty.
static int next_error(int fd, size_t room) {
  char bytes[2000], control[512], text[INET6_ADDRSTRLEN], other[INET6_ADDRSTRLEN];
  struct sockaddr_in6 name;
  memset(&name, 0, sizeof name);
  struct iovec part = {bytes, room};
  struct msghdr message = {&name, sizeof name, &part, 1, control, sizeof control, 0};
  const ssize_t n = recvmsg(fd, &message, MSG_ERRQUEUE);
  if (n < 0) {
    EXPECT(errno == EAGAIN);
    return 0;
  }
  EXPECT((message.msg_flags & MSG_ERRQUEUE) != 0);
  const int v4 = name.sin6_family == AF_INET;
  const void* const to = v4 ? (const void*)&((struct sockaddr_in*)&name)->sin_addr : (const void*)&name.sin6_addr;
  printf("%zd bytes, flags %x, to %s:", n, message.msg_flags, inet_ntop(name.sin6_family, to, text, sizeof text));
  for (struct cmsghdr* one = CMSG_FIRSTHDR(&message); one != NULL; one = CMSG_NXTHDR(&message, one)) {
    if (one->cmsg_type != IP_RECVERR && one->cmsg_type != IPV6_RECVERR) {
      printf(" %d.%d", one->cmsg_level, one->cmsg_type);
      continue;
    }
    struct sock_extended_err error;
    struct sockaddr_in6 by;
    memcpy(&error, CMSG_DATA(one), sizeof error);
    memcpy(&by, SO_EE_OFFENDER((struct sock_extended_err*)CMSG_DATA(one)), v4 ? sizeof(struct sockaddr_in) : sizeof by);
    const void* const from = v4 ? (const void*)&((struct sockaddr_in*)&by)->sin_addr : (const void*)&by.sin6_addr;
    printf(" %s, origin %u, type %u, code %u, by %s", strerror((int)error.ee_errno), error.ee_origin, error.ee_type,
           error.ee_code, inet_ntop(by.sin6_family, from, other, sizeof other));
  }
  printf("\n");
  return 1;
}

static void errors_of(int family) {
  const int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6, on = 1;
  const int option = family == AF_INET ? IP_RECVERR : IPV6_RECVERR;
  const int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  struct sockaddr_in to4 = {AF_INET, htons(9), {htonl(INADDR_LOOPBACK)}, {0}};
  struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_port = htons(9), .sin6_addr = in6addr_loopback};
  const struct sockaddr* const to = family == AF_INET ? (struct sockaddr*)&to4 : (struct sockaddr*)&to6;
  const socklen_t size = family == AF_INET ? sizeof to4 : sizeof to6;
  static char long_one[1500];
  char byte;
  // Without the option, a socket without a peer hears of nothing.
  EXPECT(sendto(fd, "x", 1, 0, to, size) == 1);
  sleep_ms(5);
  EXPECT(poll_for(fd, 0) == 0 && next_error(fd, 10) == 0);
  EXPECT(setsockopt(fd, level, option, &on, sizeof on) == 0);
  EXPECT(sendto(fd, "hello", 5, 0, to, size) == 5 && poll_for(fd, 1000) == POLLERR);
  EXPECT(next_error(fd, 3) == 1 && next_error(fd, 3) == 0 && poll_for(fd, 0) == 0);
  EXPECT(recv(fd, &byte, 1, 0) == -1 && errno == EAGAIN);  // reading the queue has taken the socket's error
  EXPECT(sendto(fd, long_one, sizeof long_one, 0, to, size) == sizeof long_one && poll_for(fd, 1000) == POLLERR);
  EXPECT(recv(fd, &byte, 1, 0) == -1 && errno == ECONNREFUSED && poll_for(fd, 0) == POLLERR);
  const int ttl = 1;
  EXPECT(setsockopt(fd, level, family == AF_INET ? IP_RECVTTL : IPV6_RECVHOPLIMIT, &ttl, sizeof ttl) == 0);
  EXPECT(next_error(fd, 2000) == 1 && next_error(fd, 2000) == 0);
  // Clearing the option empties the queue.
  const int off = 0;
  EXPECT(sendto(fd, "x", 1, 0, to, size) == 1 && poll_for(fd, 1000) == POLLERR);
  EXPECT(setsockopt(fd, level, option, &off, sizeof off) == 0 && next_error(fd, 10) == 0);
  EXPECT(close(fd) == 0);
}

int main(void) {
  errors_of(AF_INET);
  errors_of(AF_INET6);
  printf("errors: done\n");
  return 0;
}

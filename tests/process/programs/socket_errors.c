// Kinds of sockets that do not exist, arguments that no socket takes, and an empty queue of errors.
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int fds[2];

static int error_of_socket(int family, int type, int protocol) {
  const int fd = socket(family, type, protocol);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

static int error_of_pair(int family, int type, int protocol) {
  if (socketpair(family, type, protocol, fds) != 0) return errno;
  close(fds[0]);
  close(fds[1]);
  return 0;
}

static void kinds(void) {
  EXPECT(error_of_socket(-1, SOCK_STREAM, 0) == EAFNOSUPPORT);
  EXPECT(error_of_socket(AF_INET, 75, 0) == EINVAL);
  EXPECT(error_of_socket(AF_INET, SOCK_STREAM | 0x100, 0) == EINVAL);
  EXPECT(error_of_socket(AF_UNIX, 12, 0) == EINVAL);
  EXPECT(error_of_socket(AF_INET, SOCK_RAW, 0) == EPROTONOSUPPORT);
  EXPECT(error_of_socket(AF_INET, SOCK_RDM, 0) == ESOCKTNOSUPPORT);
  EXPECT(error_of_socket(AF_INET6, SOCK_STREAM, IPPROTO_UDP) == EPROTONOSUPPORT);
  EXPECT(error_of_socket(AF_INET, SOCK_DGRAM, IPPROTO_TCP) == EPROTONOSUPPORT);
  EXPECT(error_of_socket(AF_INET, SOCK_STREAM, -1) == EINVAL);
  EXPECT(error_of_socket(AF_INET, SOCK_STREAM, 1000) == EINVAL);
  EXPECT(error_of_socket(AF_UNIX, SOCK_RDM, 0) == ESOCKTNOSUPPORT);
  EXPECT(error_of_socket(AF_UNIX, SOCK_RDM, 7) == EPROTONOSUPPORT);
  const int raw = socket(AF_UNIX, SOCK_RAW, 0);  // datagrams
  int type = 0;
  socklen_t length = sizeof type;
  EXPECT(raw >= 0 && getsockopt(raw, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_DGRAM);
  close(raw);

  EXPECT(error_of_pair(AF_UNSPEC, SOCK_STREAM, 0) == EAFNOSUPPORT);
  EXPECT(error_of_pair(AF_INET, 75, 0) == EINVAL);
  EXPECT(error_of_pair(AF_INET, SOCK_RAW, 0) == EPROTONOSUPPORT);
  EXPECT(error_of_pair(AF_INET, SOCK_DGRAM, IPPROTO_TCP) == EPROTONOSUPPORT);
  EXPECT(error_of_pair(AF_INET, SOCK_STREAM, IPPROTO_ICMP) == EPROTONOSUPPORT);
  EXPECT(error_of_pair(AF_INET, SOCK_STREAM, 0) == EOPNOTSUPP);
  EXPECT(error_of_pair(AF_INET6, SOCK_DGRAM, IPPROTO_UDP) == EOPNOTSUPP);
  EXPECT(error_of_pair(AF_UNIX, SOCK_RAW, 0) == 0);
}

static void queue_of_errors(int fd) {
  char bytes[16];
  struct iovec part = {bytes, sizeof bytes};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  EXPECT(recv(fd, bytes, sizeof bytes, MSG_ERRQUEUE) == -1 && errno == EAGAIN);
  EXPECT(recvmsg(fd, &message, MSG_ERRQUEUE) == -1 && errno == EAGAIN);
  struct mmsghdr one = {.msg_hdr = message};
  EXPECT(recvmmsg(fd, &one, 1, MSG_ERRQUEUE, NULL) == -1 && errno == EAGAIN);
}

static void vectors(int fd) {
  static char bytes[16];
  static struct iovec parts[1025];
  for (int i = 0; i < 1025; ++i) parts[i] = (struct iovec){bytes, 1};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 1025};
  EXPECT(sendmsg(fd, &message, 0) == -1 && errno == EMSGSIZE);
  EXPECT(recvmsg(fd, &message, MSG_DONTWAIT) == -1 && errno == EMSGSIZE);
  message.msg_iovlen = (size_t)-1;
  EXPECT(recvmsg(fd, &message, MSG_DONTWAIT) == -1 && errno == EMSGSIZE);
}

static void names(void) {
  const int receiver = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);
  struct {
    struct sockaddr_in in;
    char more[200];
  } name = {.in = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}}};
  socklen_t length = sizeof name.in;
  EXPECT(bind(receiver, (struct sockaddr*)&name, length) == 0);
  EXPECT(getsockname(receiver, (struct sockaddr*)&name, &length) == 0);
  char byte = 'x';
  struct iovec part = {&byte, 1};
  // A long name is cut off in a message, and refused elsewhere.
  struct msghdr message = {.msg_name = &name, .msg_namelen = sizeof name, .msg_iov = &part, .msg_iovlen = 1};
  EXPECT(sendmsg(sender, &message, 0) == 1 && recv(receiver, &byte, 1, 0) == 1 && byte == 'x');
  EXPECT(sendto(sender, &byte, 1, 0, (struct sockaddr*)&name, sizeof name) == -1 && errno == EINVAL);
  message.msg_namelen = (socklen_t)-1;
  EXPECT(sendmsg(sender, &message, 0) == -1 && errno == EINVAL);
  EXPECT(recvmsg(receiver, &message, MSG_DONTWAIT) == -1 && errno == EINVAL);
  close(sender);
  close(receiver);
}

static void options(int tcp, int udp) {
  int value = 0;
  EXPECT(setsockopt(udp, IPPROTO_IP, IP_TOS, &value, sizeof value) == 0);
  EXPECT(ioctl(tcp, SIOCATMARK, NULL) == -1 && errno == EFAULT);
  EXPECT(ioctl(tcp, SIOCATMARK, &value) == 0 && value == 0);
  EXPECT(ioctl(udp, SIOCATMARK, &value) == -1 && errno == ENOTTY);
}

int main(void) {
  kinds();
  const int tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);
  queue_of_errors(tcp);
  queue_of_errors(udp);
  EXPECT(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) == 0);
  vectors(fds[0]);
  names();
  options(tcp, udp);
  return 0;
}

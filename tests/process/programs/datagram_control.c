// Control data of datagrams: IP_PKTINFO, IP_RECVTTL, IP_RECVTOS, their IPv6 forms, SO_TIMESTAMP; and the options themselves.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int get(int fd, int level, int option) {
  int value = -7;
  socklen_t size = sizeof value;
  EXPECT(getsockopt(fd, level, option, &value, &size) == 0 && size == sizeof value);
  return value;
}

static int set(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0 ? 0 : errno;
}

// Prints the control data of a received message, and returns its flags.
static int receive(int fd, size_t room) {
  char bytes[8], control[256];
  struct iovec part = {bytes, sizeof bytes};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = room};
  EXPECT(recvmsg(fd, &message, 0) == 1);
  for (struct cmsghdr* one = CMSG_FIRSTHDR(&message); one != NULL; one = CMSG_NXTHDR(&message, one)) {
    const size_t length = one->cmsg_len - CMSG_LEN(0);
    int value = 0;
    memcpy(&value, CMSG_DATA(one), length < sizeof value ? length : sizeof value);
    char text[INET6_ADDRSTRLEN];
    if (one->cmsg_level == SOL_SOCKET && one->cmsg_type == SO_TIMESTAMP) {
      struct timeval at, now;
      memcpy(&at, CMSG_DATA(one), sizeof at);
      gettimeofday(&now, NULL);
      const long us = (now.tv_sec - at.tv_sec) * 1000000 + now.tv_usec - at.tv_usec;
      printf(" timestamp: %d", length == sizeof at && us >= 0 && us < 1000000);
    } else if (one->cmsg_level == SOL_SOCKET && one->cmsg_type == SO_TIMESTAMPNS) {
      struct timespec at;
      memcpy(&at, CMSG_DATA(one), sizeof at);
      const int64_t ns = clock_ns(CLOCK_REALTIME) - at.tv_sec * 1000000000ll - at.tv_nsec;
      printf(" timestamp in ns: %d", length == sizeof at && ns >= 0 && ns < 1000000000);
    } else if (one->cmsg_level == IPPROTO_IP && one->cmsg_type == IP_PKTINFO) {
      struct in_pktinfo info;
      memcpy(&info, CMSG_DATA(one), sizeof info);
      printf(" to %s by %d", inet_ntop(AF_INET, &info.ipi_addr, text, sizeof text), info.ipi_ifindex);
    } else if (one->cmsg_level == IPPROTO_IPV6 && one->cmsg_type == IPV6_PKTINFO) {
      struct in6_pktinfo info;
      memcpy(&info, CMSG_DATA(one), sizeof info);
      printf(" to %s by %u", inet_ntop(AF_INET6, &info.ipi6_addr, text, sizeof text), info.ipi6_ifindex);
    } else {
      printf(" %d.%d: %d (%zu bytes)", one->cmsg_level, one->cmsg_type, value, length);
    }
  }
  printf(message.msg_flags != 0 ? " flags %x\n" : "\n", message.msg_flags);
  return message.msg_flags;
}

static void v4(void) {
  const int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in name = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {0}};
  socklen_t size = sizeof name;
  EXPECT(bind(a, (struct sockaddr*)&name, sizeof name) == 0 && getsockname(a, (struct sockaddr*)&name, &size) == 0);
  EXPECT(connect(b, (struct sockaddr*)&name, sizeof name) == 0);
  printf("TTL %d, TOS %d, discovery %d, multicast TTL %d, loop %d, errors %d, MTU %d\n", get(a, IPPROTO_IP, IP_TTL),
         get(a, IPPROTO_IP, IP_TOS), get(a, IPPROTO_IP, IP_MTU_DISCOVER), get(a, IPPROTO_IP, IP_MULTICAST_TTL),
         get(a, IPPROTO_IP, IP_MULTICAST_LOOP), get(a, IPPROTO_IP, IP_RECVERR), get(b, IPPROTO_IP, IP_MTU));
  socklen_t room = sizeof size;
  EXPECT(getsockopt(a, IPPROTO_IP, IP_MTU, &size, &room) == -1 && errno == ENOTCONN);
  EXPECT(set(a, IPPROTO_IP, IP_TTL, 0) == EINVAL && set(a, IPPROTO_IP, IP_TTL, 256) == EINVAL);
  EXPECT(set(a, IPPROTO_IP, IP_TTL, 9) == 0 && get(a, IPPROTO_IP, IP_TTL) == 9);
  EXPECT(set(a, IPPROTO_IP, IP_TTL, -1) == 0 && get(a, IPPROTO_IP, IP_TTL) == 64);
  EXPECT(set(a, IPPROTO_IP, IP_MTU_DISCOVER, 6) == EINVAL && set(a, IPPROTO_IP, IP_PKTINFO, 5) == 0);
  EXPECT(get(a, IPPROTO_IP, IP_PKTINFO) == 1);
  // One byte will do.
  const unsigned char byte = 3;
  unsigned char got[4] = {0};
  socklen_t length = 1;
  EXPECT(setsockopt(a, IPPROTO_IP, IP_MULTICAST_TTL, &byte, 1) == 0 && get(a, IPPROTO_IP, IP_MULTICAST_TTL) == 3);
  EXPECT(getsockopt(a, IPPROTO_IP, IP_MULTICAST_TTL, got, &length) == 0 && length == 1 && got[0] == 3 && got[1] == 0);
  EXPECT(set(b, IPPROTO_IP, IP_TTL, 7) == 0 && set(b, IPPROTO_IP, IP_TOS, 0x20) == 0);
  EXPECT(send(b, "a", 1, 0) == 1);
  EXPECT(receive(a, 256) == 0);
  EXPECT(set(a, IPPROTO_IP, IP_RECVTTL, 1) == 0 && set(a, IPPROTO_IP, IP_RECVTOS, 1) == 0);
  EXPECT(set(a, SOL_SOCKET, SO_TIMESTAMP, 1) == 0 && get(a, SOL_SOCKET, SO_TIMESTAMP) == 1);
  EXPECT(send(b, "b", 1, 0) == 1);
  EXPECT(receive(a, 256) == 0);
  EXPECT(set(a, SOL_SOCKET, SO_TIMESTAMPNS, 1) == 0 && get(a, SOL_SOCKET, SO_TIMESTAMP) == 0);
  EXPECT(send(b, "c", 1, 0) == 1);
  EXPECT(receive(a, CMSG_SPACE(sizeof(struct timespec))) == MSG_CTRUNC);
  EXPECT(send(b, "d", 1, 0) == 1);
  EXPECT(receive(a, 0) == MSG_CTRUNC);
}

static void v6(void) {
  const int a = socket(AF_INET6, SOCK_DGRAM, 0), b = socket(AF_INET6, SOCK_DGRAM, 0), c = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in6 name = {.sin6_family = AF_INET6};
  socklen_t size = sizeof name;
  EXPECT(bind(a, (struct sockaddr*)&name, sizeof name) == 0 && getsockname(a, (struct sockaddr*)&name, &size) == 0);
  name.sin6_addr = in6addr_loopback;
  printf("hops %d, class %d, discovery %d, multicast hops %d, loop %d\n", get(a, IPPROTO_IPV6, IPV6_UNICAST_HOPS),
         get(a, IPPROTO_IPV6, IPV6_TCLASS), get(a, IPPROTO_IPV6, IPV6_MTU_DISCOVER),
         get(a, IPPROTO_IPV6, IPV6_MULTICAST_HOPS), get(a, IPPROTO_IPV6, IPV6_MULTICAST_LOOP));
  EXPECT(set(a, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 256) == EINVAL && set(a, IPPROTO_IPV6, IPV6_TCLASS, 256) == EINVAL);
  for (int i = 0; i < 5; ++i) {
    static const int kWanted[] = {IPV6_RECVPKTINFO, IPV6_RECVHOPLIMIT, IPV6_RECVTCLASS, IPV6_2292HOPLIMIT, IPV6_2292PKTINFO};
    EXPECT(set(a, IPPROTO_IPV6, kWanted[i], 1) == 0);
  }
  EXPECT(set(a, IPPROTO_IPV6, IPV6_HOPLIMIT, 1) == ENOPROTOOPT);
  EXPECT(set(b, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 5) == 0 && set(b, IPPROTO_IPV6, IPV6_TCLASS, 8) == 0);
  EXPECT(sendto(b, "a", 1, 0, (struct sockaddr*)&name, sizeof name) == 1);
  EXPECT(receive(a, 256) == 0);
  // IPv4 to a socket of IPv6.
  const struct sockaddr_in from4 = {AF_INET, name.sin6_port, {htonl(INADDR_LOOPBACK)}, {0}};
  EXPECT(set(a, IPPROTO_IP, IP_RECVTTL, 1) == 0);
  EXPECT(sendto(c, "b", 1, 0, (const struct sockaddr*)&from4, sizeof from4) == 1);
  EXPECT(receive(a, 256) == 0);
}

int main(void) {
  v4();
  v6();
  const int tcp = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(set(tcp, IPPROTO_IP, IP_MULTICAST_TTL, 1) == EINVAL && set(tcp, IPPROTO_IP, IP_TOS, 0x10) == 0);
  EXPECT(get(tcp, IPPROTO_IP, IP_TOS) == 0x10 && get(tcp, IPPROTO_IP, IP_TTL) == 64);
  char name[16] = "";
  socklen_t length = sizeof name;
  EXPECT(getsockopt(tcp, SOL_SOCKET, SO_BINDTODEVICE, name, &length) == 0 && length == 0);
  EXPECT(setsockopt(tcp, SOL_SOCKET, SO_BINDTODEVICE, "nowhere", 7) == -1 && errno == ENODEV);
  EXPECT(setsockopt(tcp, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2) == 0);
  length = sizeof name;
  EXPECT(getsockopt(tcp, SOL_SOCKET, SO_BINDTODEVICE, name, &length) == 0 && length == 3 && strcmp(name, "lo") == 0);
  length = 3;
  EXPECT(getsockopt(tcp, SOL_SOCKET, SO_BINDTODEVICE, name, &length) == -1 && errno == EINVAL);
  printf("control: done\n");
  return 0;
}

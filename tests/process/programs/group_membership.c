// Joining multicast groups, by address, by interface and by index, and leaving them; invalid groups.
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int change(int socket, int option, const char* group, const char* interface) {
  struct ip_mreq request;
  EXPECT(inet_pton(AF_INET, group, &request.imr_multiaddr) == 1);
  EXPECT(inet_pton(AF_INET, interface, &request.imr_interface) == 1);
  return setsockopt(socket, IPPROTO_IP, option, &request, sizeof request) == 0 ? 0 : errno;
}

static int change_v6(int socket, int option, const char* group, unsigned interface) {
  struct ipv6_mreq request = {.ipv6mr_interface = interface};
  EXPECT(inet_pton(AF_INET6, group, &request.ipv6mr_multiaddr) == 1);
  return setsockopt(socket, IPPROTO_IPV6, option, &request, sizeof request) == 0 ? 0 : errno;
}

int main(void) {
  const int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET6, SOCK_DGRAM, 0);
  EXPECT(change(a, IP_ADD_MEMBERSHIP, "239.1.2.3", "127.0.0.1") == 0);
  EXPECT(change(a, IP_ADD_MEMBERSHIP, "239.1.2.3", "127.0.0.1") == EADDRINUSE);
  EXPECT(change(a, IP_ADD_MEMBERSHIP, "10.1.2.3", "127.0.0.1") == EINVAL);
  EXPECT(change(a, IP_ADD_MEMBERSHIP, "239.1.2.3", "203.0.113.77") == ENODEV);
  struct ip_mreqn by_index = {.imr_ifindex = (int)if_nametoindex("lo")};
  EXPECT(by_index.imr_ifindex != 0 && inet_pton(AF_INET, "239.1.2.3", &by_index.imr_multiaddr) == 1);
  EXPECT(setsockopt(a, IPPROTO_IP, IP_ADD_MEMBERSHIP, &by_index, sizeof by_index) == -1 && errno == EADDRINUSE);
  EXPECT(setsockopt(a, IPPROTO_IP, IP_ADD_MEMBERSHIP, &by_index, 4) == -1 && errno == EINVAL);
  struct group_req request = {.gr_interface = if_nametoindex("lo")};
  struct sockaddr_in name = {.sin_family = AF_INET};
  EXPECT(inet_pton(AF_INET, "239.9.9.9", &name.sin_addr) == 1);
  memcpy(&request.gr_group, &name, sizeof name);
  EXPECT(setsockopt(a, IPPROTO_IP, MCAST_JOIN_GROUP, &request, sizeof request) == 0);
  EXPECT(change(a, IP_DROP_MEMBERSHIP, "239.9.9.9", "127.0.0.1") == 0);
  EXPECT(setsockopt(a, IPPROTO_IP, MCAST_LEAVE_GROUP, &request, sizeof request) == -1 && errno == EADDRNOTAVAIL);
  EXPECT(change(a, IP_DROP_MEMBERSHIP, "239.1.2.3", "127.0.0.1") == 0);
  for (int i = 0; i < 21; ++i) {
    char group[16];
    snprintf(group, sizeof group, "239.0.0.%d", i);
    EXPECT(change(a, IP_ADD_MEMBERSHIP, group, "127.0.0.1") == (i < 20 ? 0 : ENOBUFS));
  }
  const unsigned lo = if_nametoindex("lo");
  EXPECT(change_v6(b, IPV6_JOIN_GROUP, "ff0e::1234", lo) == 0);
  EXPECT(change_v6(b, IPV6_JOIN_GROUP, "ff0e::1234", lo) == EADDRINUSE);
  EXPECT(change_v6(b, IPV6_JOIN_GROUP, "fe80::1", lo) == EINVAL);
  EXPECT(change_v6(b, IPV6_JOIN_GROUP, "ff0e::1234", 4711) == ENODEV);
  EXPECT(change_v6(b, IPV6_LEAVE_GROUP, "ff0e::1234", lo) == 0);
  EXPECT(change_v6(b, IPV6_LEAVE_GROUP, "ff0e::1234", lo) == EADDRNOTAVAIL);
  close(a);
  close(b);
  return 0;
}

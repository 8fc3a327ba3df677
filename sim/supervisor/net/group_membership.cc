#include "sim/supervisor/net/group_membership.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/supervisor/net/interfaces.h"

namespace verbatim::supervisor {

namespace {

constexpr std::size_t kMostGroups = 20;  // net.ipv4.igmp_max_memberships

template <class T>
std::optional<T> load(std::span<const std::byte> value) {
  if (value.size() < sizeof(T)) return std::nullopt;
  T loaded;
  std::memcpy(&loaded, value.data(), sizeof loaded);
  return loaded;
}

IpAddress of_v4(const in_addr& address) { return IpAddress::v4(ntohl(address.s_addr)); }
IpAddress of_v6(const in6_addr& address) { return IpAddress::v6(address.s6_addr); }

// 0: no such interface.
int interface_of(int index, const HostSpec& own) {
  if (index == 0) return kEthernetIndex;
  const int last = interface_index(own.further_interfaces.size());
  return index >= kLoopbackIndex && index <= last ? index : 0;
}

int interface_of(const IpAddress& address, const HostSpec& own) {
  if (address.any()) return kEthernetIndex;
  if (address.loopback()) return kLoopbackIndex;
  for (const Interface& one : interfaces_of(own)) {
    if (address == one.v4) return one.index;
  }
  return 0;
}

}  // namespace

std::optional<int> GroupMemberships::set_option(int level, int option, std::span<const std::byte> value,
                                                const HostSpec& own) {
  const bool v4 = level == IPPROTO_IP, v6 = level == IPPROTO_IPV6;
  if (v4 && (option == IP_ADD_MEMBERSHIP || option == IP_DROP_MEMBERSHIP)) {
    const auto by_address = load<ip_mreq>(value);
    if (!by_address) return -EINVAL;
    const auto by_index = load<ip_mreqn>(value);
    const int index = by_index && by_index->imr_ifindex != 0
                          ? interface_of(by_index->imr_ifindex, own)
                          : interface_of(of_v4(by_address->imr_interface), own);
    return change({of_v4(by_address->imr_multiaddr), index}, option == IP_ADD_MEMBERSHIP);
  }
  if (v6 && (option == IPV6_ADD_MEMBERSHIP || option == IPV6_DROP_MEMBERSHIP)) {
    const auto request = load<ipv6_mreq>(value);
    if (!request) return -EINVAL;
    return change({of_v6(request->ipv6mr_multiaddr), interface_of(static_cast<int>(request->ipv6mr_interface), own)},
                  option == IPV6_ADD_MEMBERSHIP);
  }
  if ((v4 || v6) && (option == MCAST_JOIN_GROUP || option == MCAST_LEAVE_GROUP)) {
    const auto request = load<group_req>(value);
    if (!request) return -EINVAL;
    IpAddress group;
    if (v4 && request->gr_group.ss_family == AF_INET) {
      sockaddr_in name;
      std::memcpy(&name, &request->gr_group, sizeof name);
      group = of_v4(name.sin_addr);
    } else if (v6 && request->gr_group.ss_family == AF_INET6) {
      sockaddr_in6 name;
      std::memcpy(&name, &request->gr_group, sizeof name);
      group = of_v6(name.sin6_addr);
    } else {
      return -EINVAL;
    }
    return change({group, interface_of(static_cast<int>(request->gr_interface), own)}, option == MCAST_JOIN_GROUP);
  }
  return std::nullopt;
}

int GroupMemberships::change(const Membership& membership, bool joins) {
  if (!membership.group.multicast() || membership.group == IpAddress::v4(INADDR_BROADCAST)) return -EINVAL;
  if (membership.interface == 0) return -ENODEV;
  const auto found = std::ranges::find(joined_, membership);
  if (!joins) {
    if (found == joined_.end()) return -EADDRNOTAVAIL;
    joined_.erase(found);
    return 0;
  }
  if (found != joined_.end()) return -EADDRINUSE;
  if (joined_.size() >= kMostGroups) return -ENOBUFS;
  joined_.push_back(membership);
  return 0;
}

}  // namespace verbatim::supervisor

#include "sim/supervisor/net/ip_options.h"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>

#include "sim/supervisor/net/socket.h"

namespace verbatim::supervisor {

namespace {

// An option with values from `least` to `most`; flags are set by any value but 0.
struct Option {
  int level, number, initial, least, most;
  bool is_flag = false;
  bool has_default = false;  // -1 sets the initial value
  bool is_of_multicast = false;
};

constexpr Option flag(int level, int number, int initial = 0) { return {level, number, initial, 0, 1, true}; }

constexpr int kHops = 64, kMostHops = 255;
constexpr Option kOptions[] = {
    {IPPROTO_IP, IP_TOS, 0, 0, 255},
    {IPPROTO_IP, IP_TTL, kHops, 1, kMostHops, false, true},
    flag(IPPROTO_IP, IP_RECVOPTS),
    flag(IPPROTO_IP, IP_RETOPTS),
    flag(IPPROTO_IP, IP_PKTINFO),
    {IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_WANT, IP_PMTUDISC_DONT, IP_PMTUDISC_OMIT},
    flag(IPPROTO_IP, IP_RECVERR),
    flag(IPPROTO_IP, IP_RECVTTL),
    flag(IPPROTO_IP, IP_RECVTOS),
    flag(IPPROTO_IP, IP_FREEBIND),
    flag(IPPROTO_IP, IP_TRANSPARENT),
    flag(IPPROTO_IP, IP_RECVORIGDSTADDR),
    {IPPROTO_IP, IP_MINTTL, 0, 0, kMostHops},
    flag(IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT),
    {IPPROTO_IP, IP_MULTICAST_TTL, 1, 0, kMostHops, false, true, true},
    {IPPROTO_IP, IP_MULTICAST_LOOP, 1, 0, 1, true, false, true},
    flag(IPPROTO_IP, IP_MULTICAST_ALL, 1),
    {IPPROTO_IPV6, IPV6_UNICAST_HOPS, kHops, 0, kMostHops, false, true},
    {IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 1, 0, kMostHops, false, true, true},
    {IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1, 0, 1, false, false, true},
    {IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_WANT, IPV6_PMTUDISC_DONT, IPV6_PMTUDISC_OMIT},
    flag(IPPROTO_IPV6, IPV6_RECVERR),
    flag(IPPROTO_IPV6, IPV6_2292PKTINFO),
    flag(IPPROTO_IPV6, IPV6_2292HOPLIMIT),
    flag(IPPROTO_IPV6, IPV6_RECVPKTINFO),
    flag(IPPROTO_IPV6, IPV6_RECVHOPLIMIT),
    flag(IPPROTO_IPV6, IPV6_RECVTCLASS),
    {IPPROTO_IPV6, IPV6_TCLASS, 0, 0, 255, false, true},
    flag(IPPROTO_IPV6, IPV6_FREEBIND),
    flag(IPPROTO_IPV6, IPV6_TRANSPARENT),
};

const Option* find(int level, int number) {
  const auto* found = std::ranges::find_if(kOptions, [=](const Option& o) { return o.level == level && o.number == number; });
  return found != std::end(kOptions) ? found : nullptr;
}

// Linux has the option for sockets of the family.
bool exists(int family, int level, int option) {
  constexpr int kLastV4 = 51, kLastV6 = 80;  // IP_LOCAL_PORT_RANGE, and the last of linux/in6.h
  if (level == IPPROTO_IPV6) return family == AF_INET6 && option > 0 && option <= kLastV6 && option != IPV6_HOPLIMIT;
  const bool between = option > IP_RECVFRAGSIZE + 1 && option < IP_MULTICAST_IF;
  return level == IPPROTO_IP && option > 0 && option <= kLastV4 && !between;
}

}  // namespace

int IpOptions::set(const Socket& socket, int level, int option, int value) {
  if (!exists(socket.family(), level, option)) return -ENOPROTOOPT;
  const Option* const found = find(level, option);
  if (found == nullptr) return 0;
  if (found->is_of_multicast && socket.type() == SOCK_STREAM) return level == IPPROTO_IP ? -EINVAL : -ENOPROTOOPT;
  if (found->is_flag) value = value != 0;
  if (found->has_default && value == -1) value = found->initial;
  if (option == IP_TOS && level == IPPROTO_IP) value &= 0xff;
  if (value < found->least || value > found->most) return -EINVAL;
  values_[{level, option}] = value;
  return 0;
}

int IpOptions::get(const Socket& socket, int level, int option, int* value) const {
  if (!exists(socket.family(), level, option) || find(level, option) == nullptr) return -ENOPROTOOPT;
  *value = at(level, option);
  return 0;
}

int IpOptions::at(int level, int option) const {
  if (const auto set = values_.find({level, option}); set != values_.end()) return set->second;
  const Option* const found = find(level, option);
  return found != nullptr ? found->initial : 0;
}

}  // namespace verbatim::supervisor

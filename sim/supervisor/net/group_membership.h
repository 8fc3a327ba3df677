// Multicast groups that a socket has joined on the management network (ip(7), ipv6(7)). On real RoCE
// networks, programs join by IGMP in addition to ibv_attach_mcast. Simulated switches need no IGMP, and the
// management network carries no multicast: a membership only decides the errors of later calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/supervisor/net/internet.h"

namespace verbatim::supervisor {

class GroupMemberships {
 public:
  // 0 or -errno; nullopt: not a membership option. `own`: the socket's host.
  std::optional<int> set_option(int level, int option, std::span<const std::byte> value, const HostSpec& own);

 private:
  struct Membership {
    IpAddress group;
    int interface = 0;
    friend bool operator==(const Membership&, const Membership&) = default;
  };
  int change(const Membership& membership, bool joins);

  std::vector<Membership> joined_;
};

}  // namespace verbatim::supervisor

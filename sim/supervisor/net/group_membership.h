// The multicast groups that a socket has joined on the management network (ip(7), ipv6(7)): what programs do beside
// ibv_attach_mcast so that the hosts of a RoCE network hear of a group. Switches here need no such report, and datagrams to
// groups are not carried on the management network, so a membership is kept and told of by errors, and nothing else.
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
  // 0 or -errno; nothing: the option is none of groups. `own` is the host.
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

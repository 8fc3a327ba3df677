// The multicast groups of an adapter, and the queue pairs that are attached to them (IBA 10.5.2). A group is
// a GID and, on InfiniBand, the LID its packets go to; every member gets its own copy of a datagram, in the
// order in which they joined.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/hca/context.h"
#include "sim/ib/lid_ranges.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

// The destination queue pair of every multicast datagram (IBA 9.2.3.2).
inline constexpr std::uint32_t kMulticastQpn = 0xffffff;

struct MulticastGroup {
  std::array<std::uint8_t, 16> gid{};
  std::uint16_t lid = 0;  // 0 on Ethernet, where the GID gives the address
  auto operator<=>(const MulticastGroup&) const = default;
};

class MulticastTable {
 public:
  // Groups one adapter keeps, and members of one.
  static constexpr std::uint32_t kGroupsMax = 8192, kMembersMax = 240;

  // 0 or an errno; joining twice is joining once.
  int attach(const MulticastGroup& group, const Ref<QueuePair>& qp);
  int detach(const MulticastGroup& group, const QueuePair& qp);
  // The queue pair is destroyed: detaches it from all groups.
  void forget(const QueuePair& qp);
  bool has_member(const QueuePair& qp) const;

  // The members of the group a datagram is for; none if it is for no group.
  std::vector<Ref<QueuePair>> members(const ib::Packet& packet) const;

 private:
  std::map<MulticastGroup, std::vector<Ref<QueuePair>>> groups_;
};

}  // namespace verbatim::hca

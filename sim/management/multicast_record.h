// Multicast groups at the subnet administrator (IBA 15.2.5.17): join, leave, and the responses.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sim/ib/management.h"
#include "sim/management/path.h"

namespace verbatim::management {

// Attributes that a member of a group sends with.
struct Membership {
  ib::Gid group;
  ib::Lid lid;
  std::uint32_t qkey = 0;
  std::uint16_t pkey = 0xffff;
  std::uint8_t mtu = 0, rate = 0;  // codes
  std::uint8_t service_level = 0, traffic_class = 0, hop_limit = 0;
  std::uint32_t flow_label = 0;
};

// Join as a full member; a new group gets these keys. A zero `group` requests a new group.
ib::Mad encode_join(const ib::Gid& group, const ib::Gid& port, std::uint16_t pkey, std::uint32_t qkey);
ib::Mad encode_leave(const ib::Gid& group, const ib::Gid& port);
// nullopt: not such a response, or a refusal.
std::optional<Membership> decode_join_answer(const ib::Mad& mad);

// The multicast groups of a subnet: attributes and members. Switches flood packets to any of their LIDs, so
// there are no routes.
class MulticastGroups {
 public:
  // The record of each member.
  std::vector<std::vector<std::byte>> records() const;
  // nullopt: not a request about groups.
  std::optional<ib::Mad> answer(const ib::Mad& mad, std::uint8_t mtu, std::uint8_t rate);

 private:
  using Key = std::array<std::uint8_t, 16>;
  struct Group {
    // The record of a member.
    std::vector<std::byte> record(const Key& member) const;

    Membership facts;
    std::set<Key> members;  // by port GID
  };
  static Key key_of(const ib::Gid& gid);

  std::map<Key, Group> groups_;
  std::set<std::uint16_t> lids_;  // in use
  std::uint32_t made_ = 0;        // number of MGIDs assigned
};

}  // namespace verbatim::management

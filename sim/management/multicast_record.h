// Multicast groups at the subnet administrator (IBA 15.2.5.17): joining and leaving, and what answers.
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

// What a member of a group sends with.
struct Membership {
  ib::Gid group;
  ib::Lid lid;
  std::uint32_t qkey = 0;
  std::uint16_t pkey = 0xffff;
  std::uint8_t mtu = 0, rate = 0;  // codes
  std::uint8_t service_level = 0, traffic_class = 0, hop_limit = 0;
  std::uint32_t flow_label = 0;
};

// As a full member; a group that nobody has joined yet begins with these keys. A zero `group` asks for a new one.
ib::Mad encode_join(const ib::Gid& group, const ib::Gid& port, std::uint16_t pkey, std::uint32_t qkey);
ib::Mad encode_leave(const ib::Gid& group, const ib::Gid& port);
// Nothing: it is no such answer, or a refusal.
std::optional<Membership> decode_join_answer(const ib::Mad& mad);

// The groups of a subnet. Switches flood what goes to any of their LIDs, so a group is no more than its record.
class MulticastGroups {
 public:
  // Each member's record.
  std::vector<std::vector<std::byte>> records() const;
  // Nothing: it is no question about groups.
  std::optional<ib::Mad> answer(const ib::Mad& mad, std::uint8_t mtu, std::uint8_t rate);

 private:
  using Key = std::array<std::uint8_t, 16>;
  struct Group {
    // A member's.
    std::vector<std::byte> record(const Key& member) const;

    Membership facts;
    std::set<Key> members;  // by port GID
  };
  static Key key_of(const ib::Gid& gid);

  std::map<Key, Group> groups_;
  std::set<std::uint16_t> lids_;  // in use
  std::uint32_t made_ = 0;        // groups without a name of their own
};

}  // namespace verbatim::management

// Partition keys (IBA 10.9): 15 bits identify the partition, one bit the membership. Two keys match if their
// partitions are equal and at least one is a full member.
#pragma once

#include <cstdint>

namespace verbatim::ib {

inline constexpr std::uint16_t kFullMembership = 0x8000;
inline constexpr std::uint16_t kPartitionMask = 0x7fff;
// Full member of the default partition, in which every port is unless configured otherwise (IBA 10.9.2).
inline constexpr std::uint16_t kDefaultPkey = 0xffff;

// Partition 0 is invalid: it matches no key, not even itself (IBA 10.9.1.1).
constexpr bool is_valid_pkey(std::uint16_t pkey) { return (pkey & kPartitionMask) != 0; }
// IBA 10.9.3.
constexpr bool do_pkeys_match(std::uint16_t a, std::uint16_t b) {
  return is_valid_pkey(a) && ((a ^ b) & kPartitionMask) == 0 && ((a | b) & kFullMembership) != 0;
}

}  // namespace verbatim::ib

// Partition keys (IBA 10.9): 15 bits that name a partition and one that says how one belongs to it. Two may
// talk when they are of one partition and not both limited members.
#pragma once

#include <cstdint>

namespace verbatim::ib {

inline constexpr std::uint16_t kFullMembership = 0x8000;
inline constexpr std::uint16_t kPartitionMask = 0x7fff;
// Full member of the partition that every port is in unless somebody says otherwise (IBA 10.9.2).
inline constexpr std::uint16_t kDefaultPkey = 0xffff;

// Partition 0 is invalid: it matches nothing, itself included (IBA 10.9.1.1).
constexpr bool is_valid_pkey(std::uint16_t pkey) { return (pkey & kPartitionMask) != 0; }
// IBA 10.9.3.
constexpr bool do_pkeys_match(std::uint16_t a, std::uint16_t b) {
  return is_valid_pkey(a) && ((a ^ b) & kPartitionMask) == 0 && ((a | b) & kFullMembership) != 0;
}

}  // namespace verbatim::ib

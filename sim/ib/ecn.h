// Explicit congestion notification: the low two bits of the traffic class of an IP header (RFC 3168).
#pragma once

#include <cstdint>

namespace verbatim::ib {

inline constexpr std::uint8_t kEcnMask = 3;
inline constexpr std::uint8_t kNotEct = 0, kEct1 = 1, kEct0 = 2, kCongestionExperienced = 3;

constexpr bool is_ecn_capable(std::uint8_t traffic_class) {
  const int ecn = traffic_class & kEcnMask;
  return ecn == kEct0 || ecn == kEct1;
}
constexpr std::uint8_t with_ecn(std::uint8_t traffic_class, std::uint8_t ecn) {
  return static_cast<std::uint8_t>((traffic_class & ~kEcnMask) | ecn);
}

}  // namespace verbatim::ib

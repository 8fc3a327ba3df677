// Packet sequence number: 24 bits, compared in serial order (IBA 9.7.2). There is no operator<, because the
// order of two PSNs depends on their distance.
#pragma once

#include <cstdint>

namespace verbatim::ib {

// Numbers of 24 bits in serial order: the signed distance from `from` to `to`, in [-2^23, 2^23).
inline constexpr std::uint32_t kSerialMask = 0xffffff;
constexpr std::int32_t serial_distance(std::uint32_t from, std::uint32_t to) {
  return static_cast<std::int32_t>((to - from) << 8) >> 8;
}

struct Psn {
  static constexpr std::uint32_t kMask = kSerialMask;
  std::uint32_t value = 0;

  friend constexpr bool operator==(Psn, Psn) = default;
  friend constexpr Psn operator+(Psn psn, std::uint32_t n) { return {(psn.value + n) & kMask}; }
  friend constexpr Psn operator-(Psn psn, std::uint32_t n) { return {(psn.value - n) & kMask}; }
};

// Positive if `to` is later.
constexpr std::int32_t distance(Psn from, Psn to) { return serial_distance(from.value, to.value); }
constexpr bool is_before(Psn a, Psn b) { return distance(a, b) > 0; }

}  // namespace verbatim::ib

// Packet sequence number: 24 bits, compared in serial order (IBA 9.7.2). There is no operator<, because the
// order of two PSNs depends on how far they are apart.
#pragma once

#include <cstdint>

namespace verbatim::ib {

struct Psn {
  static constexpr std::uint32_t kMask = 0xffffff;
  std::uint32_t value = 0;

  friend constexpr bool operator==(Psn, Psn) = default;
  friend constexpr Psn operator+(Psn psn, std::uint32_t n) { return {(psn.value + n) & kMask}; }
  friend constexpr Psn operator-(Psn psn, std::uint32_t n) { return {(psn.value - n) & kMask}; }
};

// Signed distance from `from` to `to`, in [-2^23, 2^23): positive when `to` is later.
constexpr std::int32_t distance(Psn from, Psn to) {
  return static_cast<std::int32_t>((to.value - from.value) << 8) >> 8;
}
constexpr bool is_before(Psn a, Psn b) { return distance(a, b) > 0; }

}  // namespace verbatim::ib

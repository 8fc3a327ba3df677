// Alpha as a fixed-point fraction, for the variants of DCQCN whose sources have a real number: 2^24 is one. A product with a
// rate below 2^30 kb/s fits 64 bits.
#pragma once

#include <cstdint>

namespace verbatim::hca {

inline constexpr std::uint64_t kFixedOne = 1u << 24;

// Alpha keeps `kept` 1024ths of itself (rounded down) and gains the rest when there was a notification.
constexpr std::uint64_t next_fixed_alpha(std::uint64_t alpha, std::int64_t kept, bool has_notification) {
  const auto weight = static_cast<std::uint64_t>(kept);
  return alpha * weight / 1024 + (has_notification ? kFixedOne / 1024 * (1024 - weight) : 0);
}

}  // namespace verbatim::hca

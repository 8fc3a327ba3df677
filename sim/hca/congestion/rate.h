// A sending rate of a queue pair.
#pragma once

#include <compare>
#include <cstdint>

#include "sim/core/check.h"
#include "sim/core/time.h"

namespace verbatim::hca {

// Whole kilobits (1000 bits) per second, at least one.
struct Rate {
  std::uint64_t kbps = 1;

  static constexpr Rate of_mbps(std::uint64_t mbps) { return {mbps * 1'000}; }
  // The rate of a line, rounded down.
  static constexpr Rate of_line(ByteTime byte_time) {
    constexpr std::uint64_t kBitsPerByteAndKilobit = 8'000'000'000;  // ps/byte to kb/s: 8 x 10^12 / 10^3
    return {kBitsPerByteAndKilobit * byte_time.denominator / byte_time.ps_numerator};
  }
  constexpr std::uint64_t mbps() const { return kbps / 1'000; }
  // Rounded up to a whole picosecond: a queue pair never sends faster than its rate. Up to 2 MB.
  constexpr Duration time_for(std::uint32_t bytes) const {
    constexpr std::uint64_t kPsPerByte = 8'000'000'000;  // at one kb/s
    return Duration(static_cast<std::int64_t>((bytes * kPsPerByte + kbps - 1) / kbps));
  }
  friend constexpr auto operator<=>(Rate, Rate) = default;
};

}  // namespace verbatim::hca

// Virtual time in integer picoseconds. Instants and durations are different types, and the clock has no
// now(): only the Engine knows the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <numeric>

#include "sim/core/check.h"

namespace verbatim {

using Duration = std::chrono::duration<std::int64_t, std::pico>;

struct VirtualClock {
  using rep = std::int64_t;
  using period = std::pico;
  using duration = Duration;
};
using Instant = std::chrono::time_point<VirtualClock, Duration>;

inline constexpr Instant kNever = Instant::max();
// 106 days: no run continues past it. Adding the duration of a call to an earlier instant does not
// overflow.
inline constexpr Instant kEndOfTime = Instant(std::chrono::hours(106 * 24));

// `from` + `span`, or an instant just past kEndOfTime if that is less.
constexpr Instant later(Instant from, Duration span) {
  return span > kEndOfTime - from ? kEndOfTime + Duration(1) : from + span;
}

constexpr std::int64_t to_ps(Duration d) { return d.count(); }
constexpr std::int64_t to_ps(Instant t) { return t.time_since_epoch().count(); }
constexpr Instant instant_from_ps(std::int64_t ps) { return Instant(Duration(ps)); }

// Picoseconds per byte as an exact ratio: FDR 4x is 440/3. time_for() rounds up, so a link never exceeds its
// rate. Callers add up the bytes of one busy period before they convert, to round only once.
struct ByteTime {
  std::uint64_t ps_numerator = 0;
  std::uint64_t denominator = 1;

  constexpr Duration time_for(std::uint64_t bytes) const {
    if (denominator == 1) return Duration(static_cast<std::int64_t>(bytes * ps_numerator));
    std::uint64_t scaled = 0;
    if (!__builtin_mul_overflow(bytes, ps_numerator, &scaled) && scaled <= UINT64_MAX - denominator) [[likely]] {
      return Duration(static_cast<std::int64_t>((scaled + denominator - 1) / denominator));
    }
    const unsigned __int128 ps = static_cast<unsigned __int128>(bytes) * ps_numerator + (denominator - 1);
    return Duration(static_cast<std::int64_t>(ps / denominator));
  }
  friend constexpr bool operator==(ByteTime, ByteTime) = default;
};

constexpr ByteTime byte_time_of(std::uint64_t bits_per_second) {
  const std::uint64_t common = std::gcd<std::uint64_t, std::uint64_t>(8'000'000'000'000ull, bits_per_second);
  return ByteTime{8'000'000'000'000ull / common, bits_per_second / common};
}

// A clock whose edge n is at ceil(n * 10^12 / hz) ps; edges are computed from n, never accumulated.
class ClockDomain {
 public:
  constexpr explicit ClockDomain(std::uint64_t hertz) : hertz_(hertz) {
    CHECK(hertz > 0);
    const std::int64_t common = std::gcd(kPsPerSecond, static_cast<std::int64_t>(hertz));
    ps_ = kPsPerSecond / common;
    cycles_ = static_cast<std::int64_t>(hertz) / common;
  }

  constexpr std::uint64_t hertz() const { return hertz_; }

  // First edge at or after `t`.
  constexpr std::int64_t next_edge_number(Instant t) const {
    if (to_ps(t) <= 0) return 0;
    // The least n with ceil(n * ps / cycles) >= t is floor((t - 1) * cycles / ps) + 1 for t > 0.
    std::int64_t scaled = 0;
    if (!__builtin_mul_overflow(to_ps(t) - 1, cycles_, &scaled)) [[likely]] return scaled / ps_ + 1;
    return static_cast<std::int64_t>(static_cast<__int128>(to_ps(t) - 1) * cycles_ / ps_) + 1;
  }
  constexpr Instant edge(std::int64_t n) const {
    CHECK(n >= 0);
    std::int64_t scaled = 0;
    if (!__builtin_mul_overflow(n, ps_, &scaled) && scaled <= INT64_MAX - cycles_) [[likely]] {
      return instant_from_ps((scaled + cycles_ - 1) / cycles_);
    }
    return instant_from_ps(static_cast<std::int64_t>((static_cast<__int128>(n) * ps_ + cycles_ - 1) / cycles_));
  }
  constexpr Instant next_edge(Instant t) const { return edge(next_edge_number(t)); }

  // The edge `cycles` whole cycles after the first edge at or after `t`: the completion time of work that
  // arrives at `t` and takes `cycles` cycles of this clock.
  constexpr Instant after(Instant t, std::int64_t cycles) const { return edge(next_edge_number(t) + cycles); }

 private:
  static constexpr std::int64_t kPsPerSecond = 1'000'000'000'000;
  std::uint64_t hertz_;
  std::int64_t ps_ = 0, cycles_ = 0;  // cycles_ cycles take ps_ picoseconds, in lowest terms
};

}  // namespace verbatim

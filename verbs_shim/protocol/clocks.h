// Values of the virtual clocks: each is a base plus the virtual time in nanoseconds, rounded down.
#pragma once

#include <time.h>

#include <cstdint>

namespace verbatim::protocol {

inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;
// CLOCK_MONOTONIC at virtual time 0. It is not 0, so that a confusion of the two shows.
inline constexpr std::int64_t kUptimeNs = 1000 * kNsPerSecond;

// Value of the clock at virtual time 0; false: there is no such clock. CPU-time clocks advance with virtual
// time.
inline bool clock_base(long clock, std::int64_t epoch_ns, std::int64_t* base_ns) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI:
      *base_ns = epoch_ns;
      return true;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
      *base_ns = kUptimeNs;
      return true;
    case CLOCK_PROCESS_CPUTIME_ID:
    case CLOCK_THREAD_CPUTIME_ID:
      *base_ns = 0;
      return true;
    default:
      return false;
  }
}

// Clock reads in a row, without another call that takes time between them. Each read costs more than the one
// before, so that a loop which waits for a time reaches it in few iterations. The first read costs what the
// profile states, a later one this, in picoseconds. The row begins with the last of the reads that follow the poll of as
// many completions.
inline std::int64_t cost_in_clock_row(std::int64_t since_row_began_ps) {
  constexpr std::int64_t kLeast = 25'000, kMost = 50'000'000;  // 25 ns, 50 us
  const std::int64_t cost = since_row_began_ps / 16;
  return cost < kLeast ? kLeast : cost > kMost ? kMost : cost;
}

}  // namespace verbatim::protocol

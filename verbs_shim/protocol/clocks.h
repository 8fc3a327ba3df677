// What the virtual clocks show: each counts from a base, in nanoseconds of virtual time, rounded down.
#pragma once

#include <time.h>

#include <cstdint>

namespace verbatim::protocol {

inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;
// CLOCK_MONOTONIC at virtual time 0: a machine that has been up for a while, so that a difference to zero shows.
inline constexpr std::int64_t kUptimeNs = 1000 * kNsPerSecond;

// What the clock shows at virtual time 0; false: there is no such clock. CPU-time clocks run with virtual time.
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

// A row of clock reads, with nothing else in between that takes time: each costs more than the one before, so that a loop
// that waits for a time comes to it in few steps. The first costs what the profile says, a later one this, in picoseconds.
inline std::int64_t cost_in_clock_row(std::int64_t since_row_began_ps) {
  constexpr std::int64_t kLeast = 25'000, kMost = 50'000'000;  // 25 ns, 50 us
  const std::int64_t cost = since_row_began_ps / 16;
  return cost < kLeast ? kLeast : cost > kMost ? kMost : cost;
}

}  // namespace verbatim::protocol

// Expiries of a periodic timer whose first one was due before the timer was set (an absolute time that has
// passed).
#pragma once

#include <cstdint>

#include "sim/core/time.h"

namespace verbatim::supervisor {

struct MissedExpiries {
  std::uint64_t count = 0;  // after the first one
  Duration since_last{};    // the period continues from there

  // `late_ns`: time since the first expiry was due. A timer without an interval expires once.
  static MissedExpiries of(std::int64_t late_ns, Duration interval) {
    const std::int64_t interval_ns = to_ps(interval) / 1000;
    if (late_ns <= 0 || interval_ns <= 0) return {};
    return {static_cast<std::uint64_t>(late_ns / interval_ns), Duration(late_ns % interval_ns * 1000)};
  }
};

}  // namespace verbatim::supervisor

// Virtual time for people, in every message except trace lines: truncated to the nanosecond; in
// microseconds below one second ("102480.042 us"), in seconds above ("1.500000042 s"). Trace lines have
// microseconds with six decimals, so a message's time below one second is a prefix of the trace's.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/time.h"
#include "sim/core/words.h"

namespace verbatim {

// Microseconds with three decimals and no unit, for table columns: "102480.042".
inline std::string microseconds_text(std::int64_t ps) {
  const bool is_negative = ps < 0;
  const std::uint64_t ns = (is_negative ? 0 - static_cast<std::uint64_t>(ps) : static_cast<std::uint64_t>(ps)) / 1000;
  return join(is_negative && ns != 0 ? "-" : "", ns / 1000, ".", std::to_string(1000 + ns % 1000).substr(1));
}

inline std::string time_text(std::int64_t ps) {
  constexpr std::int64_t kSecond = 1'000'000'000'000;
  if (ps < kSecond && ps > -kSecond) return microseconds_text(ps) + " us";
  const std::uint64_t ns = (ps < 0 ? 0 - static_cast<std::uint64_t>(ps) : static_cast<std::uint64_t>(ps)) / 1000;
  return join(ps < 0 ? "-" : "", ns / 1'000'000'000, ".", std::to_string(1'000'000'000 + ns % 1'000'000'000).substr(1), " s");
}
inline std::string time_text(Duration time) { return time_text(to_ps(time)); }
inline std::string time_text(Instant time) { return time_text(to_ps(time)); }

}  // namespace verbatim

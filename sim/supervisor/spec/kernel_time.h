// Conversions between times of programs and of the engine.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

#include "sim/core/time.h"
#include "verbs_shim/protocol/clocks.h"

namespace verbatim::supervisor {

using protocol::kUptimeNs;

// Clamped to [0, end of time].
inline Duration from_ns(std::int64_t ns) {
  constexpr std::int64_t kLongest = kEndOfTime.time_since_epoch().count() / 1000;
  return Duration(std::clamp<std::int64_t>(ns, 0, kLongest) * 1000);
}

inline Instant add_ns(Instant from, std::int64_t ns) { return later(from, from_ns(ns)); }

inline bool valid(const timespec& t) { return t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < 1'000'000'000; }

inline std::int64_t to_ns(const timespec& t) {
  constexpr std::int64_t kMaxSeconds = 4'000'000'000;
  return std::min<std::int64_t>(t.tv_sec, kMaxSeconds) * 1'000'000'000 + t.tv_nsec;
}

// Rounded up: a running timer never reads as zero.
inline timespec to_timespec(Duration d) {
  const std::int64_t ns = (to_ps(d) + 999) / 1000;
  return {ns / 1'000'000'000, ns % 1'000'000'000};
}

inline bool is_real_time_clock(std::int64_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI ||
         clock == 8;  // CLOCK_REALTIME_ALARM
}

// A clock of CPU time, of the calling process or thread or by the id of one (clock_getcpuclockid(3)). Negative ids with
// this kind name a descriptor instead.
inline bool is_cpu_clock(std::int64_t clock) {
  constexpr std::int64_t kKind = 3, kOfDescriptor = 3;
  return clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID || (clock < 0 && (clock & kKind) != kOfDescriptor);
}

// Nanoseconds from `now` to the absolute time `t` of `clock`; negative: it has passed.
inline std::int64_t ns_until(std::int64_t clock, const timespec& t, Instant now, std::int64_t epoch_ns) {
  const std::int64_t base = is_real_time_clock(clock) ? epoch_ns : is_cpu_clock(clock) ? 0 : kUptimeNs;
  return to_ns(t) - base - to_ps(now) / 1000;
}

}  // namespace verbatim::supervisor

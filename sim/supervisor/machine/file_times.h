// File times as one number of nanoseconds since 1970.
#pragma once

#include <cstdint>
#include <ctime>

namespace verbatim::supervisor {

inline std::int64_t ns_of(const timespec& time) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

inline timespec time_of(std::int64_t ns) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  const std::int64_t part = (ns % kNsPerSecond + kNsPerSecond) % kNsPerSecond;
  return {(ns - part) / kNsPerSecond, part};
}

}  // namespace verbatim::supervisor

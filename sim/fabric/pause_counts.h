// Counts PFC frames by priority, at ports that count them (ib::PriorityCounts).
#pragma once

#include <cstdint>

#include "sim/fabric/priority_flow_control.h"
#include "sim/ib/port_counters.h"

namespace verbatim::fabric {

// Sent or received pauses.
using PauseDirection = ib::PriorityCounts::Pauses ib::PriorityCounts::*;

// Counts a frame that names some priorities and pauses some of them; null counters: no effect.
inline void count_pauses(ib::PriorityCounters* counters, PauseDirection direction, std::uint8_t named, std::uint8_t paused,
                         Instant effective) {
  if (counters == nullptr) [[likely]] return;
  for (std::size_t i = 0; i < kPriorities; ++i) {
    ib::PriorityCounts::Pauses& pauses = (*counters)[i].*direction;
    if ((named >> i & 1) != 0) ++pauses.frames;
    const bool is_paused = (paused >> i & 1) != 0;
    if (is_paused == (pauses.since != kNever)) continue;
    if (!is_paused) ++pauses.ended;
    pauses.of_ended = pauses.total(effective);
    pauses.since = is_paused ? effective : kNever;
  }
}

// Counts frames that repeat a pause.
inline void count_repeats(ib::PriorityCounters* counters, PauseDirection direction, std::uint8_t named, std::uint64_t frames) {
  if (counters == nullptr) [[likely]] return;
  for (std::size_t i = 0; i < kPriorities; ++i) {
    if ((named >> i & 1) != 0) ((*counters)[i].*direction).frames += frames;
  }
}

}  // namespace verbatim::fabric

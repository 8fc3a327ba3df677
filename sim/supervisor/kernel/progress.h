// Calls of programs that change something, in contrast to calls that wait, measure time or set timers: a run without the
// former would never end (idle_watch.h).
#pragma once

#include <cstdint>

namespace verbatim::supervisor {

// False for calls that fail, and by their row of the table (CallTraits::kNoProgress, kCounted).
bool makes_progress(std::uint64_t number, std::int64_t result);

}  // namespace verbatim::supervisor

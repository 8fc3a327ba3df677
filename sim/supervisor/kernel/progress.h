// Calls of programs that change something, in contrast to calls that wait, measure time or set timers: a run without the
// former would never end (idle_watch.h).
#pragma once

#include <cstdint>

namespace verbatim::supervisor {

// False for calls that fail, wait, measure time, or set timers or signals, and for transfers of 8 or 128 bytes, which are
// those of timerfd, eventfd and signalfd.
bool makes_progress(std::uint64_t call, std::int64_t result);

}  // namespace verbatim::supervisor

// How one thread waited by running. For people: real time decides nothing and is in no digest.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/time.h"

namespace verbatim::supervisor {

struct WaitingTime {
  std::string thread;          // "client: poller (pid 1001), thread 1003"
  Duration parked{};           // virtual time spent parked
  std::uint64_t parks = 0;     // number of times it was parked
  double polling_seconds = 0;  // real time in empty polls that were executed
  // Poll of the last loop that was not proven: "poller+0x11a6", or file and line if known and the polls
  // took long; "": none.
  std::string place;
  std::string refusal;         // reason why it was not proven; completes "it …"
  // Real time of computation, during which no virtual time passes: sum of slices of more than two
  // milliseconds if at least a second, and its place when last examined.
  double computing_seconds = 0;
  std::string computing_place;
};

}  // namespace verbatim::supervisor

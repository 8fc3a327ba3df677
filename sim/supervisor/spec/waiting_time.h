// How one thread waited by running. Figures for people: real time decides nothing and is in no digest.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/time.h"

namespace verbatim::supervisor {

struct WaitingTime {
  std::string thread;          // "client: poller (pid 1001), thread 1003"
  Duration parked{};           // virtual time
  std::uint64_t parks = 0;     // how often
  double polling_seconds = 0;  // real time in empty polls that were executed
  // Of the poll in the last loop that was not proven: "poller+0x11a6", by file and line if it has them and took long; "": none.
  std::string place;
  std::string refusal;         // why, completes "it …"
  // Real time in computation, for which no virtual time passes: that of slices of more than two milliseconds, if it comes to a
  // second, and where it was when it was looked at.
  double computing_seconds = 0;
  std::string computing_place;
};

}  // namespace verbatim::supervisor

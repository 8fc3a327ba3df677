// Congestion over the time of a run, as `verbatim report` draws it: of each lane of a port what waited in its output queue, when
// it paused its far end, what it marked and dropped; of each queue pair the rate at which it might send.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/verbatim/run_picture.h"

namespace verbatim::cli {

struct LaneHistory {
  std::string port;  // "port/leaf0:1"; an adapter or a switch where that has dropped a packet
  std::uint32_t lane = 0;
  // In each part of the time with packets: the most bytes, 1 if the far end was paused at any time, packets.
  BinnedValues queue{BinnedValues::Join::kMost}, pausing{BinnedValues::Join::kMost}, marks, drops;
  std::int64_t deepest = 0, paused_ps = 0;
  std::uint64_t pauses = 0, marked = 0;
  std::map<std::uint64_t, std::uint64_t> dropped;  // by reason

  std::uint64_t all_dropped() const;
  // Whether it is worth a look: it has paused, marked or dropped, or more has waited than the largest packet of InfiniBand.
  bool is_congested() const;
};
// Those that are, the worst first: by drops, pauses, marks, depth. At most so many; `left_out` gets the number of the others.
std::vector<LaneHistory> congested_lanes_of(const RecordedRun& run, const RunPicture& picture, std::size_t most,
                                            std::size_t* left_out);

// A queue pair whose rate has changed.
struct RateHistory {
  std::string host;
  std::uint64_t qpn = 0;
  std::uint64_t changes = 0;
  std::int64_t lowest = -1;  // Mb/s
  // Mb/s after changes in each part of the time with packets; -1: there was none.
  BinnedValues least{BinnedValues::Join::kLeast, -1}, most{BinnedValues::Join::kMost, -1};
};
// The lowest first; likewise.
std::vector<RateHistory> rates_of(const RecordedRun& run, const RunPicture& picture, std::size_t most, std::size_t* left_out);

}  // namespace verbatim::cli

// Congestion over time, as shown by `verbatim report`: for each lane of a port its output queue, pauses,
// marks and drops; for each queue pair its rate limit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/verbatim/run_picture.h"

namespace verbatim::cli {

struct LaneHistory {
  std::string port;  // "port/leaf0:1", or an adapter or switch that dropped packets
  std::uint32_t lane = 0;
  // For each part of the time with packets: most bytes; 1 if the far end was paused at any time; numbers of
  // packets.
  BinnedValues queue{BinnedValues::Join::kMost}, pausing{BinnedValues::Join::kMost}, marks, drops;
  std::int64_t deepest = 0, paused_ps = 0;
  std::uint64_t pauses = 0, marked = 0;
  std::map<std::uint64_t, std::uint64_t> dropped;  // by reason

  std::uint64_t all_dropped() const;
  // Whether it paused, marked or dropped, or its queue exceeded the largest packet of InfiniBand.
  bool is_congested() const;
};
// At most `most` congested lanes, the worst first: by drops, pauses, marks, depth. `left_out` gets the number
// of the others.
std::vector<LaneHistory> congested_lanes_of(const RecordedRun& run, const RunPicture& picture, std::size_t most,
                                            std::size_t* left_out);

// A queue pair whose rate has changed.
struct RateHistory {
  std::string host;
  std::uint64_t qpn = 0;
  std::uint64_t changes = 0;
  std::int64_t lowest = -1;  // Mb/s
  // Mb/s after changes in each part of the time with packets; -1: no change.
  BinnedValues least{BinnedValues::Join::kLeast, -1}, most{BinnedValues::Join::kMost, -1};
};
// The lowest first, at most `most`; `left_out` gets the number of the others.
std::vector<RateHistory> rates_of(const RecordedRun& run, const RunPicture& picture, std::size_t most, std::size_t* left_out);

}  // namespace verbatim::cli

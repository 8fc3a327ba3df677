// Changes of output queues for recordings. Changes by a packet that waits alone and briefly, as most packets
// do, are left out. A change is held back until that is known, and then passed on with its own time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "sim/core/ids.h"

namespace verbatim::cli {

class QueueChanges {
 public:
  // Longer than the cut-through latency of switches.
  static constexpr std::int64_t kLongPs = 1'000'000;

  struct Change {
    ComponentId port;
    std::uint32_t lane = 0;
    std::uint64_t bytes = 0;
    std::int64_t time_ps = 0;
  };
  using Pass = std::function<void(const Change& change)>;

  explicit QueueChanges(Pass pass) : pass_(std::move(pass)) {}

  void put(const Change& change) {
    Lane& lane = lanes_[{change.port.value, change.lane}];
    if (lane.is_empty) {
      lane.is_empty = change.bytes == 0;
      if (!lane.is_empty) lane.first = change;
      return;
    }
    lane.is_empty = change.bytes == 0;
    if (const std::optional<Change> first = std::exchange(lane.first, std::nullopt)) {
      if (lane.is_empty && change.time_ps - first->time_ps < kLongPs) return;
      pass_(*first);
    }
    pass_(change);
  }
  // Ends the run: changes by packets that still wait are passed on.
  void finish() {
    for (auto& [place, lane] : lanes_) {
      if (const std::optional<Change> first = std::exchange(lane.first, std::nullopt)) pass_(*first);
    }
  }

 private:
  struct Lane {
    bool is_empty = true;
    std::optional<Change> first;  // held back
  };

  Pass pass_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Lane> lanes_;  // by port and lane
};

}  // namespace verbatim::cli

// An in-order pipeline stage in the adapter's core clock: work enters at a clock edge, the next may enter
// `interval` cycles later, and each leaves `latency` cycles after it entered. With a capacity of n, work
// enters at or after the edge at which the n-th work before it leaves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/core/time.h"
#include "sim/core/trail.h"
#include "sim/hca/hca_profile.h"

namespace verbatim::hca {

class Pipeline {
 public:
  Pipeline(const ClockDomain& clock, const Stage& stage) : clock_(clock), stage_(stage), room_at_(stage.capacity) {}

  // False: the stage has latency 0 and interval 1, which adds no time to that of the next stage.
  bool takes_time() const { return stage_.latency_cycles > 0 || stage_.interval_cycles > 1; }

  // Work arrives at `arrival`; returns the time at which it leaves the stage. Calls are in the order of the
  // work. Adds the time to its trail, which ends at `arrival`, under `name`, a string that is never
  // destroyed. The next work may enter after `occupied_cycles` if that is more than the interval.
  Instant accept(Instant arrival, Trail& trail, ComponentId where, const char* name,
                 std::uint32_t occupied_cycles = 0) {
    const std::int64_t first = clock_.next_edge_number(arrival);
    std::int64_t edge = std::max(first, next_free_);
    if (stage_.capacity > 0) [[unlikely]] edge = wait_for_room(edge);
    next_free_ = edge + std::max(stage_.interval_cycles, occupied_cycles);
    const Instant done = clock_.edge(edge + stage_.latency_cycles);
    if (trail) [[unlikely]] {
      trail.add(clock_.edge(first), {where, name, TrailKind::kEdge});
      trail.add(clock_.edge(edge), {where, name, TrailKind::kBusy});
      trail.add(done, {where, name, TrailKind::kCycles, stage_.latency_cycles});
    }
    return done;
  }

 private:
  // The first edge at or after `edge` at which there is room. Work enters at this edge.
  std::int64_t wait_for_room(std::int64_t edge);

  ClockDomain clock_;
  Stage stage_;
  std::int64_t next_free_ = 0;  // first edge at which new work may enter
  // With a capacity: a ring of the edges at which the last `capacity` pieces of work leave.
  std::vector<std::int64_t> room_at_;
  std::uint32_t oldest_ = 0;
};

}  // namespace verbatim::hca

// A pipeline stage in the adapter's core clock: work enters at a clock edge, the next may enter `interval`
// cycles later, and each leaves `latency` cycles after it entered. In order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/core/time.h"
#include "sim/hca/hca_profile.h"

namespace verbatim::hca {

class Pipeline {
 public:
  Pipeline(const ClockDomain& clock, const Stage& stage) : clock_(clock), stage_(stage) {}

  // Work is there at `arrival`; returns when it leaves the stage. Calls are in the order of the work.
  Instant accept(Instant arrival) {
    const std::int64_t edge = std::max(clock_.next_edge_number(arrival), next_free_);
    next_free_ = edge + stage_.interval_cycles;
    return clock_.edge(edge + stage_.latency_cycles);
  }

 private:
  ClockDomain clock_;
  Stage stage_;
  std::int64_t next_free_ = 0;  // first edge at which new work may enter
};

}  // namespace verbatim::hca

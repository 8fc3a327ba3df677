// Detects packets that block each other in the fabric for ever. It searches when a requester's timeout
// expires, at most once in 100 us of virtual time, and at the end of a run; a run without timeouts has no
// cost.
#pragma once

#include <vector>

#include "sim/config/simulation.h"
#include "sim/fabric/credit_loop.h"

namespace verbatim::cli {

class FabricDeadlock {
 public:
  explicit FabricDeadlock(config::Simulation& simulation) : simulation_(simulation) {}
  FabricDeadlock(const FabricDeadlock&) = delete;
  FabricDeadlock& operator=(const FabricDeadlock&) = delete;

  // A requester's timeout has expired. A cycle that nothing can resolve becomes a diagnosis, reported and
  // kept like all others.
  void on_timeout();
  // The run is over. Any cycle becomes a diagnosis, also one that a lifetime or a watchdog would resolve.
  void on_end();
  // When a cycle that nothing can resolve was found; kNever: none.
  const Instant& found() const { return found_; }

 private:
  static constexpr Duration kInterval{100'000'000};

  bool diagnose(fabric::LoopKind kind);

  config::Simulation& simulation_;
  std::vector<fabric::Port*> ports_;  // of all switches; empty before the first search
  Instant next_search_{};
  Instant found_ = kNever;
};

}  // namespace verbatim::cli

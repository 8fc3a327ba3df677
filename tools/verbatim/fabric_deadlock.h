// Packets that block each other in the fabric for ever. They are looked for when a requester has waited too long for an answer,
// at most once in 100 us of virtual time, and at the end of a run: while nothing times out, nothing is spent on it.
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

  // A requester has waited too long. A circle that nothing ends becomes a diagnosis, which is reported and kept like all others.
  void on_timeout();
  // The run is over. So does a circle that is there now, also one that a lifetime or a watchdog would end.
  void on_end();
  // When one was found that nothing ends; kNever: none was.
  const Instant& found() const { return found_; }

 private:
  static constexpr Duration kInterval{100'000'000};

  bool diagnose(fabric::LoopKind kind);

  config::Simulation& simulation_;
  std::vector<fabric::Port*> ports_;  // of all switches; empty: nobody has looked
  Instant next_search_{};
  Instant found_ = kNever;
};

}  // namespace verbatim::cli

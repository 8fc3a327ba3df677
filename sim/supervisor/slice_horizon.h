// How far a thread that gets the token may run by itself (scheduling/horizon.h), and the virtual end of the
// run.
#pragma once

#include <optional>
#include <vector>

#include "sim/supervisor/process_list.h"
#include "sim/supervisor/run_context.h"
#include "sim/supervisor/scheduling/horizon.h"

namespace verbatim::supervisor {

class SliceHorizon {
 public:
  // `next_look`: of the IdleWatch; outlives this.
  SliceHorizon(const RunContext& run, Horizon& horizon, const ProcessList& processes, const Instant& next_look)
      : run_(run), horizon_(horizon), processes_(processes), next_look_(next_look), starts_(run.hosts.size()) {}

  // Bounds of a thread of the process that gets the token at the engine's time.
  Horizon::Bounds of(Process& process) const;
  // If the next event is far off, running a loop is cheaper than interpreting it, despite the hand-over.
  bool is_distant(Process& process) const;
  // Virtual time at which the run ends, or is looked at, as far as it is known.
  Instant virtual_end() const;

  // Timer of the start of a program on the host. It outlives the run, or its removal.
  void add_start(std::size_t host, const Timer& timer) { starts_[host].push_back(&timer); }
  void remove_start(std::size_t host, const Timer& timer) { std::erase(starts_[host], &timer); }

 private:
  // Time of the next start of a program or the next event of a thread on `host`; kNever: none; nullopt:
  // too many to look at.
  std::optional<Instant> next_program_event_on(std::size_t host) const;

  const RunContext& run_;
  Horizon& horizon_;
  const ProcessList& processes_;
  const Instant& next_look_;
  std::vector<std::vector<const Timer*>> starts_;  // by host
};

}  // namespace verbatim::supervisor

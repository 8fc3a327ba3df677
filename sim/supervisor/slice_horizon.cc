#include "sim/supervisor/slice_horizon.h"

#include <algorithm>
#include <chrono>

namespace verbatim::supervisor {

Horizon::Bounds SliceHorizon::of(Process& process) const {
  const std::size_t host = process.host_index();
  if (run_.options.mode != Mode::kSlices || processes_.has_parked_thread(host))
    return {run_.engine.now(), {}};
  const Instant limit = std::min(virtual_end(), processes_.stalls().next(host, run_.engine.now()));
  return horizon_.of(host, process.memory(), next_program_event_on(host), limit);
}

bool SliceHorizon::is_distant(Process& process) const {
  constexpr auto kLong = std::chrono::microseconds(1600);  // at least 32 reads of a clock
  return of(process).until - run_.engine.now() > kLong;
}

Instant SliceHorizon::virtual_end() const {
  const Limits& limits = run_.options.limits;
  const Instant* const deadlock = limits.fabric_deadlock;
  const Instant end = std::min(limits.virtual_end, next_look_);
  return deadlock == nullptr || *deadlock == kNever ? end : std::min(end, *deadlock + horizon_.furthest_lead());
}

std::optional<Instant> SliceHorizon::next_program_event_on(std::size_t host) const {
  std::size_t most = 16;  // a longer walk here costs more than a pass over the events of other hosts
  Instant next = kNever;
  for (const Timer* const start : starts_[host]) {
    if (most-- == 0) return std::nullopt;
    if (start->scheduled()) next = std::min(next, start->when());
  }
  for (Process* process : processes_.on_host(host)) {
    for (const auto& thread : process->threads()) {
      if (most-- == 0) return std::nullopt;
      next = std::min(next, thread->next_event_time());
    }
  }
  return next;
}

}  // namespace verbatim::supervisor

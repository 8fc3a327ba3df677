// Runs a fabric in windows, as if every cable with a propagation time joined two parts of it (`sim/fabric/link_inbox.h`), or at
// once. Both must give the same trace.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/core/engine.h"
#include "sim/fabric/port.h"

namespace verbatim::fabric {

class Windows {
 public:
  explicit Windows(bool enabled) : enabled_(enabled) {}

  void connect(Port& a, Port& b, const LinkParams& link) {
    const bool is_between_parts = enabled_ && link.propagation > Duration(0);
    fabric::connect(a, b, link, is_between_parts ? CableKind::kBetweenParts : CableKind::kWithinPart);
    if (!is_between_parts) return;
    ends_.insert(ends_.end(), {&a, &b});
    length_ = std::min(length_, link.propagation);
  }

  // Executes until no event and no grant is left.
  void run(Engine& engine) {
    if (ends_.empty()) return engine.run();
    for (Instant end = engine.now();;) {
      Instant next = engine.next_event_time();
      for (const Port* port : ends_) next = std::min(next, port->next_grant_departure());
      if (next == kNever) return;
      end = std::max(end, next) + length_;
      engine.run_until(end - Duration(1));
      for (Port* port : ends_) port->finish_window(end);
      for (Port* port : ends_) port->take_inbox();
      ++count_;
    }
  }
  std::uint64_t count() const { return count_; }

 private:
  const bool enabled_;
  std::vector<Port*> ends_;
  Duration length_ = Duration::max();
  std::uint64_t count_ = 0;
};

}  // namespace verbatim::fabric

// Runs a fabric in windows, as if every cable with a propagation time joined two parts of it (`sim/fabric/link_inbox.h`), or at
// once. Both must give the same trace. Between runs, time may be within a window, so that what a test does then is a part of it.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/core/engine.h"
#include "sim/fabric/port.h"

namespace verbatim::fabric {

class Windows {
 public:
  Windows(Engine& engine, bool enabled) : engine_(engine), enabled_(enabled) {}

  void connect(Port& a, Port& b, const LinkParams& link) {
    const bool is_between_parts = enabled_ && link.propagation > Duration(0);
    fabric::connect(a, b, link, is_between_parts ? CableKind::kBetweenParts : CableKind::kWithinPart);
    if (!is_between_parts) return;
    ends_.insert(ends_.end(), {&a, &b});
    length_ = std::min(length_, link.propagation);
  }

  // Executes until no event is left, and no grant for which a packet waits. Afterwards it is the time of the last event.
  void run() {
    if (ends_.empty()) return engine_.run();
    for (;;) {
      while (engine_.next_event_time() < begin_ + length_) engine_.step();
      if (engine_.empty() && !has_more()) return;
      exchange(kNever);
    }
  }
  // Executes every event up to and including `end`; afterwards it is `end`.
  void run_until(Instant end) {
    if (ends_.empty()) return engine_.run_until(end);
    while (begin_ + length_ <= end) {
      engine_.run_until(begin_ + length_ - Duration(1));
      exchange(end);
    }
    engine_.run_until(end);
  }
  std::uint64_t count() const { return count_; }

 private:
  // The next window begins when something happens, or at `limit`.
  void exchange(Instant limit) {
    begin_ += length_;
    for (Port* port : ends_) port->finish_window(begin_);
    for (Port* port : ends_) port->take_inbox();
    ++count_;
    Instant next = engine_.next_event_time();
    for (const Port* port : ends_) next = std::min(next, port->next_grant_departure());
    if (next = std::min(next, limit); next != kNever) begin_ = std::max(begin_, next);
  }
  // Whether an inbox has something that makes an event.
  bool has_more() const {
    bool has_grants = false, has_waiting = false;
    for (const Port* port : ends_) {
      const LinkInbox& inbox = *port->inbox();
      if (!inbox.packets.empty() || !inbox.enabled_changes.empty()) return true;
      has_grants |= !inbox.grants.empty() || !inbox.pauses.empty() || port->next_grant_departure() != kNever;
      for (std::uint8_t lane = 0; lane < port->operational_lanes(); ++lane) {
        has_waiting |= port->has_queued(ib::VirtualLane{lane});
      }
    }
    return has_grants && has_waiting;
  }

  Engine& engine_;
  const bool enabled_;
  std::vector<Port*> ends_;
  Duration length_ = Duration::max();
  Instant begin_{};  // of the window
  std::uint64_t count_ = 0;
};

}  // namespace verbatim::fabric

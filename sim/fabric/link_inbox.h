// Everything that the far end of a cable has sent during a window of time, for an end in another part of
// the fabric.
//
// Parts run independently for one window. A window is no longer than the propagation of any cable between
// parts, so that actions in a window have no effect at the far end before the window is over. Then, with
// all parts at rest:
//  1. every end of such a cable puts the flow control frames that leave before the end of the window on its
//     line, and sends the grants (`Port::finish_window`);
//  2. every end takes the content of its inbox (`Port::take_inbox`).
//
// One part writes to an inbox during a window, and the other one reads it after the window.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/core/time.h"
#include "sim/fabric/arrivals.h"
#include "sim/fabric/link_flow_control.h"

namespace verbatim::fabric {

struct LinkInbox {
  struct Grant {
    std::size_t lane = 0;
    CreditGrant grant;
  };
  // The far end has been disabled or enabled, which takes effect at this end at `when`.
  struct EnabledChange {
    Instant when;
    bool is_enabled = false;
  };

  // Repeated pause frames of these priorities.
  struct Repeats {
    std::uint8_t priorities = 0;
    std::uint64_t frames = 0;
  };

  std::vector<ib::PacketPtr> packets;
  std::vector<Grant> grants;
  std::vector<PauseFrame> pauses;     // by time
  std::vector<Repeats> repeats;
  std::vector<EnabledChange> enabled_changes;  // by time
};

}  // namespace verbatim::fabric

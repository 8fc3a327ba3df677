// Everything that the far end of a cable has sent during a window of time, kept for an end in another part of the fabric.
//
// Parts run a window each without looking at one another. A window is no longer than the propagation of any cable between parts,
// so that what an end does in a window has no effect at the far end before the window is over. Then, with all parts at rest:
//  1. every end of such a cable puts the frames of flow control on its line that leave before the end of the window, and sends
//     the grants (`Port::finish_window`);
//  2. every end takes what is in its inbox (`Port::take_inbox`).
// One part writes to an inbox during a window, and the other reads it after the window.
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
  // The far end has been disabled or enabled, which is known here at `when`.
  struct Switching {
    Instant when;
    bool is_enabled = false;
  };

  // Frames that repeat a pause of these priorities.
  struct Repeats {
    std::uint8_t priorities = 0;
    std::uint64_t frames = 0;
  };

  std::vector<ib::PacketPtr> packets;
  std::vector<Grant> grants;
  std::vector<PauseFrame> pauses;     // by time
  std::vector<Repeats> repeats;
  std::vector<Switching> switchings;  // by time
};

}  // namespace verbatim::fabric

// Finds a deadlock of credits: output ports of switches in a circle. Each waits for space in the input buffer at its far end,
// which is full of packets that wait for the next port. They stay where they are, unless a lifetime ends them.
//
// An output waits when its first packet needs credits that its far end has not released. It can go on as soon as one packet
// leaves that input buffer, so it is part of a deadlock only if every packet there is queued for an output that waits in turn.
// IBA has no clause that forbids such routes; the subnet manager has to avoid them.
#pragma once

#include <span>
#include <vector>

#include "sim/fabric/port.h"

namespace verbatim::fabric {

// `ports`: those of all switches. The outputs of one loop, in the order in which each waits for the next, from the one with the
// lowest component on; empty when there is no loop. For the end of a run: it brings the ports' credits up to date.
std::vector<const Port*> find_credit_loop(std::span<Port* const> ports);

}  // namespace verbatim::fabric

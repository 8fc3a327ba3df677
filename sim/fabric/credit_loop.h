// Finds a deadlock of credits: output ports of switches of which each waits for space in the input buffer behind the next one, and
// which all hold what the one before them waits for. Packets in such a loop stay where they are, unless a lifetime ends them.
//
// An output waits when its first packet needs credits that its far end has not released. It can go on as soon as one packet leaves
// the input buffer that it waits for, so it is part of a deadlock only if every packet there is queued for an output that waits in
// turn. IBA has no clause that forbids such routes; the subnet manager has to avoid them.
#pragma once

#include <span>
#include <vector>

#include "sim/fabric/port.h"

namespace verbatim::fabric {

// `ports`: those of all switches. The outputs of one loop in the order in which each waits for the next, from the one with the lowest
// component on; empty when there is no loop. Changes nothing that anybody could notice.
std::vector<const Port*> find_credit_loop(std::span<Port* const> ports);

}  // namespace verbatim::fabric

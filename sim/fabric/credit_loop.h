// Finds a deadlock of credits or pauses: output ports of switches in a circle. Each waits for space in the input buffer at its
// far end, which is full of packets that wait for the next port.
//
// An output waits when its first packet needs credits that its far end has not released, or is paused. The search begins with
// all such outputs and removes one that could go on if every packet left but those in the queues of outputs that remain; at
// the end it has those that never go on, however the others move. In memory that ports share, an output also remains if packets
// of others that never leave hold so much of it that its far end cannot resume it. Pauses without need (`Port::set_pause_storm`)
// hold up no circle: they may end.
//
// A deadlock may be missed that has copies of a multicast packet, whose space counts as free when one of them can leave, and one
// in which memory is free again and the paused group is not judged any more (`shared_buffer.h`).
// IBA has no clause that forbids such routes; the subnet manager has to avoid them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/fabric/port.h"

namespace verbatim::fabric {

enum class LoopKind : std::uint8_t {
  kNow,      // they wait for each other at this time
  kForEver,  // and no lifetime and no watchdog ends that
};

// An output of a loop.
struct LoopOutput {
  const Port* port = nullptr;
  ib::VirtualLane lane;  // on Ethernet the priority
};

// `ports`: those of all switches. The outputs of one loop, in the order in which each waits for the next, from the one with the
// lowest component on; empty when there is no loop. It brings credits and pauses of the ports up to date, and changes nothing
// else.
std::vector<LoopOutput> find_credit_loop(std::span<Port* const> ports, LoopKind kind);

}  // namespace verbatim::fabric

// Finds a deadlock of credits or pauses: a cycle of switch output ports. Each waits for space in the input
// buffer at its far end, which is full of packets that wait for the next port.
//
// An output waits if its first packet needs credits that its far end has not released, or is paused. The
// search starts with all such outputs and removes each that could proceed if every packet left except those
// in the queues of remaining outputs. The outputs that remain never proceed, whatever the others do. With
// shared memory, an output also remains if packets that never leave occupy so much of it that its far end
// cannot resume the output, or if no packet of the paused group ever leaves: its far end decides only then
// (`shared_buffer.h`), however much memory others have freed. A pause storm (`Port::set_pause_storm`) holds
// no cycle, because it may end.
//
// A deadlock with copies of a multicast packet can be missed, whose space counts as free once one of them
// can leave. No IBA clause forbids such routes; the subnet manager has to avoid them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/fabric/port.h"

namespace verbatim::fabric {

enum class LoopKind : std::uint8_t {
  kNow,      // the outputs wait for each other at present
  kForEver,  // and no lifetime or watchdog ends the wait
};

// One output of a loop.
struct LoopOutput {
  const Port* port = nullptr;
  ib::VirtualLane lane;  // on Ethernet the priority
};

// `ports`: all ports of all switches. Returns the outputs of one loop, each followed by the one that it
// waits for, beginning with the lowest component; empty: no loop. Updates credits and pauses of the ports
// to the present and has no other effect.
std::vector<LoopOutput> find_credit_loop(std::span<Port* const> ports, LoopKind kind);

}  // namespace verbatim::fabric

// Where the bytes of an Ethernet frame land that a flow rule has given to a queue pair or work queue.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/hca/queues/scatter_list.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

class QueuePair;

// The outermost VLAN tag of a frame that is to lose it; `options`: FrameOption.
std::optional<std::uint16_t> tag_to_strip(const ib::Packet& frame, std::uint32_t options);
// How many bytes of the receive the frame takes.
std::uint32_t placed_bytes(const ib::Packet& frame, std::uint32_t options);
// What is written of it into the receive `list`: without its tag, with its frame check sequence, filled up to the end of a cache
// line, as the options of the queue say.
ib::Payload placed_payload(QueuePair& qp, const ScatterList& list, const ib::Packet& frame);

}  // namespace verbatim::hca

// Placement of an Ethernet frame in the receive of a queue pair or work queue.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/hca/queues/scatter_list.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

class QueuePair;

// The outermost VLAN tag, if it is to be removed from the frame; `options`: FrameOption.
std::optional<std::uint16_t> tag_to_strip(const ib::Packet& frame, std::uint32_t options);
// Bytes of the receive that the frame takes.
std::uint32_t placed_bytes(const ib::Packet& frame, std::uint32_t options);
// The bytes that are written into the receive `list`, by the options of the queue: without its tag, with its
// frame check sequence, padded to the end of a cache line.
ib::Payload placed_payload(QueuePair& qp, const ScatterList& list, const ib::Packet& frame);

}  // namespace verbatim::hca

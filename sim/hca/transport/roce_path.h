// The Ethernet, IP and UDP headers of a packet.
#pragma once

#include <cstdint>

#include "sim/hca/hca.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

// Makes a packet with a GRH, sent by queue pair `number`, a frame of RoCEv2 from this port. Its destination
// address is that of a group or of a neighbour; otherwise no port takes the frame.
void set_ethernet(ib::Packet& packet, const PortAddress& address, std::uint32_t number);

}  // namespace verbatim::hca

// The way of a packet on Ethernet.
#pragma once

#include <cstdint>

#include "sim/hca/hca.h"
#include "sim/ib/packet.h"

namespace verbatim::hca {

// A packet with its GRH, sent by queue pair `number`, becomes a frame of RoCEv2 from this port. Its addressee is a group's, or
// among the neighbours; else the frame goes to nobody.
void set_ethernet(ib::Packet& packet, const PortAddress& address, std::uint32_t number);

}  // namespace verbatim::hca

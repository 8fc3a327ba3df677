// A packet as the trace knows it: an object that it hands on to observers and never looks into. ib::Packet is one.
#pragma once

namespace verbatim {

struct TracedPacket {};

}  // namespace verbatim

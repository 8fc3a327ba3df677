// Effects of scripted faults on packets of a link. The port asks when a packet starts; without faults it
// has no PacketFaults.
#pragma once

#include "sim/core/time.h"
#include "sim/ib/packet.h"

namespace verbatim::fabric {

class Port;

struct PacketFate {
  bool is_lost = false;        // it occupies the line and never arrives
  bool is_duplicated = false;  // a copy follows it immediately
  Duration delay{0};           // its arrival is postponed; later packets do not wait
};

class PacketFaults {
 public:
  // The packet starts to leave by `port`. It may be changed, but not its size.
  virtual PacketFate on_packet(const Port& port, ib::Packet& packet) = 0;

 protected:
  ~PacketFaults() = default;
};

}  // namespace verbatim::fabric

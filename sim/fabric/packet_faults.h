// What a scripted fault does to packets on a link. The port asks when a packet starts; without faults it has
// nobody to ask.
#pragma once

#include "sim/core/time.h"
#include "sim/ib/packet.h"

namespace verbatim::fabric {

class Port;

struct PacketFate {
  bool is_lost = false;        // it takes its time on the line and never arrives
  bool is_duplicated = false;  // the same packet follows it at once
  Duration delay{0};           // it arrives so much later; what starts behind it does not wait
};

class PacketFaults {
 public:
  // The packet starts to leave by `port`. It may be changed, but not in size.
  virtual PacketFate on_packet(const Port& port, ib::Packet& packet) = 0;

 protected:
  ~PacketFaults() = default;
};

}  // namespace verbatim::fabric

// Whatever stands at the end of a link. Data moves forward: receive() takes ownership and never calls back.
#pragma once

#include <cstdint>

#include "sim/core/ids.h"
#include "sim/core/time.h"
#include "sim/ib/packet.h"

namespace verbatim::fabric {

// Port of a device, from 1; 0 is a switch's own management port.
using PortNumber = Id<struct PortNumberTag, std::uint8_t>;

// When the bytes of a packet pass the receiving end of a cable. A cut-through device acts on `head`, a
// store-and-forward one on `tail`.
struct ArrivalTimes {
  Instant head;  // the last byte of the headers a receiver needs (LRH) has arrived
  Instant tail;  // the last byte of the packet has arrived
};

// Value `reason` of a packet-dropped record. Adapters continue at kFirstAdapterReason.
enum class DropReason : std::uint8_t {
  kNoRoute = 1,   // the switch's forwarding table has no port for the destination LID
  kOwnLid = 2,    // the packet is addressed to the switch itself, which has no agent
  kLinkDown = 3,  // the port it should leave by has no link, or the link failed under it
  kFault = 4,     // a scripted fault
  kFirstAdapterReason = 16,
};

class PacketSink {
 public:
  // Called at `times.head`, for a packet coming in by port `in`; the rest of it follows until `times.tail`.
  // The packet occupies the port's input buffer until the device gives the space back with Port::release().
  virtual void receive(PortNumber in, ib::PacketPtr packet, ArrivalTimes times) = 0;

  // The cable in port `port` has stopped carrying anything, or does again.
  virtual void link_changed(PortNumber port, bool up) {
    (void)port;
    (void)up;
  }

 protected:
  ~PacketSink() = default;
};

}  // namespace verbatim::fabric

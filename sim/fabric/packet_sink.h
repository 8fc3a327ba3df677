// The device at the end of a link. Data moves forward: receive() takes ownership and never calls back.
#pragma once

#include <cstdint>

#include "sim/core/engine.h"
#include "sim/core/ids.h"
#include "sim/core/time.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/packet.h"

namespace verbatim::fabric {

// Port of a device, from 1; 0 is a switch's own management port.
using PortNumber = Id<struct PortNumberTag, std::uint8_t>;

// Times at which a packet passes the receiving end of a cable. A cut-through device acts on `head`, a
// store-and-forward device on `tail`.
struct ArrivalTimes {
  Instant head;  // the last byte of the headers a receiver needs (LinkParams::header_bytes) has arrived
  Instant tail;  // the last byte of the packet has arrived
};

using ib::DropReason;

// When an arriving packet is passed to the port's owner: when its head arrives, or `behind_tail` after its
// last byte.
struct Delivery {
  static constexpr Duration kAtHead{-1};
  Duration behind_tail = kAtHead;

  Instant of(const ArrivalTimes& times) const { return behind_tail == kAtHead ? times.head : times.tail + behind_tail; }
};

class PacketSink {
 public:
  // Called at the time that delivery() defines, mostly `times.head`, for a packet that arrives by port
  // `in`; its last byte arrives at `times.tail`. The packet occupies the port's input buffer until the
  // device calls Port::release().
  virtual void receive(PortNumber in, ib::PacketPtr packet, ArrivalTimes times) = 0;

  // Prefetches the memory that receive() will use for an expected packet, as Timer::with_prefetch says, in
  // steps from 0 to 4. The first lines of the sink are already prefetched.
  virtual void prefetch(PortNumber in, ib::Packet& packet, int step) {
    (void)in;
    (void)packet;
    (void)step;
  }

  // The same for the memory that a room listener uses when a packet leaves its lane.
  virtual void prefetch_room(ib::VirtualLane lane, int step) {
    (void)lane;
    (void)step;
  }

  // Called once, when a cable is attached to a port.
  virtual Delivery delivery() const { return {}; }

  // The link of port `port` has gone down or come up.
  virtual void link_changed(PortNumber port, bool up) {
    (void)port;
    (void)up;
  }

 protected:
  ~PacketSink() = default;
};

}  // namespace verbatim::fabric

// Whatever stands at the end of a channel. Data moves forward: receive() takes ownership and never calls back.
#pragma once

#include "sim/core/time.h"
#include "sim/ib/packet.h"

namespace verbatim::fabric {

// When the bytes of a packet pass the receiving end of a cable. A cut-through device acts on `head`, a
// store-and-forward one on `tail`.
struct ArrivalTimes {
  Instant head;  // the last byte of the headers a receiver needs (LRH) has arrived
  Instant tail;  // the last byte of the packet has arrived
};

class PacketSink {
 public:
  // Called at `times.head`; the rest of the packet follows until `times.tail`.
  virtual void receive(ib::PacketPtr packet, ArrivalTimes times) = 0;

 protected:
  ~PacketSink() = default;
};

}  // namespace verbatim::fabric

// The receiving end of one direction of a link: packets that have not been delivered to its owner, by the time at which they
// will be. One event per packet, mostly when its head arrives; its source is the receiving port, whose name orders what comes in
// at one instant.
#pragma once

#include <cstdint>

#include "sim/core/engine.h"
#include "sim/core/ring.h"
#include "sim/core/trace.h"
#include "sim/fabric/packet_sink.h"
#include "sim/ib/port_counters.h"

namespace verbatim::fabric {

class Arrivals {
 public:
  // Packets go to `sink`, as of its port `number`, and are counted in `counters`.
  Arrivals(Engine& engine, Tracer& tracer, ComponentId id, PortNumber number, PacketSink& sink, const Delivery& delivery,
           ib::PortCounters& counters);

  // A packet arrives at `times`, which are not before now.
  void expect(ib::PacketPtr&& packet, std::uint32_t wire_bytes, const ArrivalTimes& times);
  // Takes a packet that has not been delivered; null when there is none.
  ib::PacketPtr take_expected();

 private:
  struct Expected {
    ib::PacketPtr packet;
    ArrivalTimes times;
    std::uint32_t wire_bytes = 0;
  };

  void on_arrival();

  Tracer& tracer_;
  const ComponentId id_;
  const PortNumber number_;
  PacketSink& sink_;
  const Delivery delivery_;
  ib::PortCounters& counters_;
  Ring<Expected> expected_;  // by their delivery
  Timer timer_;              // of expected_.front()
};

}  // namespace verbatim::fabric

// The receiving end of one direction of a link: packets whose heads have not arrived yet, by arrival. One event per packet, when
// its head arrives; its source is the receiving port, whose name orders what comes in at one instant.
#pragma once

#include <cstdint>

#include "sim/core/engine.h"
#include "sim/core/prefetch.h"
#include "sim/core/ring.h"
#include "sim/core/trace.h"
#include "sim/fabric/packet_sink.h"
#include "sim/ib/port_counters.h"

namespace verbatim::fabric {

class Arrivals {
 public:
  // Packets go to `sink`, as of its port `number`, and are counted in `counters`.
  Arrivals(Engine& engine, Tracer& tracer, ComponentId id, PortNumber number, PacketSink& sink, ib::PortCounters& counters);

  // The head of a packet arrives at `times.head`, not before now.
  void expect(ib::PacketPtr&& packet, std::uint32_t wire_bytes, const ArrivalTimes& times);
  // Takes a packet whose head has not arrived; null when there is none.
  ib::PacketPtr take_expected();
  // For Timer::Prefetch: where the next packet is put.
  void prefetch_end() const { prefetch(expected_.end_slot(), sizeof(Expected)); }

 private:
  struct Expected {
    ib::PacketPtr packet;
    ArrivalTimes times;
    std::uint32_t wire_bytes = 0;
  };
  static_assert(sizeof(Expected) == 32);

  void on_arrival();
  void prefetch_arrival(int step) const;

  Tracer& tracer_;
  const ComponentId id_;
  const PortNumber number_;
  PacketSink& sink_;
  ib::PortCounters& counters_;
  Ring<Expected> expected_;  // by arrival of the head
  Timer timer_;              // head of expected_.front()
};

}  // namespace verbatim::fabric

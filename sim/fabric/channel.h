// One direction of a link: serialises packets one after the other and delivers each after the propagation
// delay. Bytes of one busy period are added up exactly and converted to time once, so FDR's 440/3 ps per byte
// never drift. One event per packet, at the arrival of its head.
#pragma once

#include <cstdint>

#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/fabric/packet_sink.h"
#include "sim/core/ring.h"

namespace verbatim::fabric {

// A cable with what both its ends agreed on; the same in both directions.
struct LinkParams {
  ByteTime byte_time;              // all lanes together, after line coding
  Duration propagation{0};         // of the cable and both transceivers, one way
  std::uint32_t bytes_before = 0;  // line bytes per packet ahead of the LRH (start delimiter)
  std::uint32_t bytes_after = 0;   // and behind the VCRC (end delimiter, gap)
  // Flow control packets (IBA 7.9.4): a receiver tells its free space with one of this many bytes, no more
  // often than every `credit_update_interval` (0: at once). They take time but no bandwidth from the data
  // packets.
  std::uint32_t credit_update_bytes = 8;
  Duration credit_update_interval{0};
};

// When the bytes of a packet pass the sending end.
struct DepartureTimes {
  Instant tail;  // the last byte of the packet has left
  Instant free;  // the channel can start the next one
};

class Channel {
 public:
  // Packets come out at `far_end`, as its port `far_port`; `arrival_source` orders simultaneous arrivals.
  Channel(Engine& engine, Tracer& tracer, ComponentId arrival_source, const LinkParams& params,
          PortNumber far_port, PacketSink& far_end);

  const LinkParams& params() const { return params_; }
  // The next packet may start at this time or later.
  Instant busy_until() const { return busy_until_; }

  // Starts now; busy_until() must have passed. `wire_bytes` is packet->wire_bytes(). A packet with a `delay`
  // arrives that much later, behind those that start after it.
  DepartureTimes transmit(ib::PacketPtr packet, std::uint32_t wire_bytes, Duration delay = Duration(0));
  // The same without anything that arrives: the bytes are lost on the way.
  DepartureTimes occupy(std::uint32_t wire_bytes);

  // Takes a packet off the line whose head has not arrived yet; null when there is none.
  ib::PacketPtr take_in_flight();

 private:
  struct InFlight {
    ib::PacketPtr packet;
    ArrivalTimes times;
    std::uint32_t wire_bytes = 0;
  };

  // Occupies the line and tells when the head leaves, too.
  DepartureTimes start(std::uint32_t wire_bytes, Instant* head);
  void on_arrival();

  Engine& engine_;
  Tracer& tracer_;
  const ComponentId arrival_source_;
  const LinkParams params_;
  const PortNumber far_port_;
  PacketSink& far_end_;

  Instant busy_since_{};          // start of the busy period
  std::uint64_t busy_bytes_ = 0;  // line bytes sent in it
  Instant busy_until_{};
  Ring<InFlight> in_flight_;  // by arrival of the head
  Timer arrival_;  // head of in_flight_.front()
};

}  // namespace verbatim::fabric

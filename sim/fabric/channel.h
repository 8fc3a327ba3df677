// One direction of a link: serialises packets one after the other and delivers each after the propagation
// delay. One event per packet, at the arrival of its head.
#pragma once

#include <cstdint>

#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/core/ring.h"
#include "sim/fabric/line_clock.h"
#include "sim/fabric/packet_sink.h"
#include "sim/ib/port_counters.h"

namespace verbatim::fabric {

// A cable with what both its ends agreed on; the same in both directions.
struct LinkParams {
  ByteTime byte_time;              // all lanes together, after line coding
  Duration propagation{0};         // of the cable and both transceivers, one way
  Duration transceivers{0}, fec{0};  // parts of it: coding at both ends, the block that a decoder waits for
  std::uint32_t bytes_before = 0;  // line bytes per packet ahead of the LRH (start delimiter)
  std::uint32_t bytes_after = 0;   // and behind the VCRC (end delimiter, gap)
  std::uint32_t header_bytes = 8;  // a switch needs so many to know the way: the LRH; on Ethernet all up to UDP
  // Flow control packets (IBA 7.9.4): a receiver tells the free space of a lane with one of this many bytes,
  // delimiters included, at multiples of `credit_update_interval` (0: at once), and at the latest
  // `credit_refresh_interval` after the one before (0: only when there is something to tell).
  std::uint32_t credit_update_bytes = 8;  // 1 or more
  Duration credit_update_interval{0};
  Duration credit_refresh_interval{0};
};

// When the bytes of a packet pass the sending end.
struct DepartureTimes {
  Instant tail;  // the last byte of the packet has left
  Instant free;  // the channel can start the next one
};

class Channel {
 public:
  // Packets come out at `far_end`, as its port `far_port`, and are counted in `received`; `arrival_source` orders simultaneous
  // arrivals.
  Channel(Engine& engine, Tracer& tracer, ComponentId arrival_source, const LinkParams& params,
          PortNumber far_port, PacketSink& far_end, ib::PortCounters& received);

  const LinkParams& params() const { return params_; }
  // What the sending end has put on the line; flow control packets go the same way.
  LineClock& line() { return line_; }
  const LineClock& line() const { return line_; }

  // Starts now; the line must be free. `wire_bytes` is packet->wire_bytes(). A packet with a `delay`
  // arrives that much later, behind those that start after it.
  DepartureTimes transmit(ib::PacketPtr&& packet, std::uint32_t wire_bytes, Duration delay = Duration(0));
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
  void add_to(Trail& trail, Instant head, Duration delay) const;

  Engine& engine_;
  Tracer& tracer_;
  const ComponentId arrival_source_;
  const LinkParams params_;
  const PortNumber far_port_;
  PacketSink& far_end_;
  ib::PortCounters& received_;

  LineClock line_;
  Ring<InFlight> in_flight_;  // by arrival of the head
  Timer arrival_;  // head of in_flight_.front()
};

}  // namespace verbatim::fabric

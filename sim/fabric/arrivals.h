// The receiving end of one direction of a link: packets that have not been delivered to its owner, by the time at which they
// will be. One event per packet, mostly when its head arrives; its source is the receiving port, whose name orders what comes in
// at one instant.
//
// A packet that was on a link when it failed is lost here, at the time at which it would have been delivered. Both ends count the
// failures of their link, and a packet has the number that its sender had counted when it started: here it is lost if that is
// another number by then.
#pragma once

#include <cstdint>

#include "sim/core/engine.h"
#include "sim/core/prefetch.h"
#include "sim/core/trace.h"
#include "sim/fabric/conservation.h"
#include "sim/fabric/packet_sink.h"
#include "sim/ib/packet_queue.h"
#include "sim/ib/port_counters.h"

namespace verbatim::fabric {

// Instead of a number of failures: a scripted fault loses the packet, and its sender has recorded that.
inline constexpr std::uint32_t kFaultyPacket = ~0u;

// Learns of packets that were expected and are lost.
class LossListener {
 public:
  // The packet would have taken space in the input buffer until `tail`.
  virtual void on_loss(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant tail) = 0;

 protected:
  ~LossListener() = default;
};

class Arrivals {
 public:
  // Packets go to `sink`, as of its port `number`, and are counted in `counters`.
  Arrivals(Engine& engine, Tracer& tracer, ComponentId id, PortNumber number, PacketSink& sink, ib::PortCounters& counters,
           LossListener& losses);

  ComponentId id() const { return id_; }
  ib::PortCounters& counters() { return counters_; }
  LossListener& listener() { return losses_; }
  // A packet arrives at the times of its forwarding state, which are not before now. It has the failures of the link as the
  // sender has counted them.
  void expect(ib::PacketPtr&& coming);

  // The link fails: packets that are on it now are lost, in both directions.
  void fail() { ++failures_; }
  std::uint32_t failures() const { return failures_; }

 private:
  void on_arrival();
  void prefetch(int step);
  void lose_next();
  Instant delivery_of(const ib::Packet& packet) const {
    return delivery_.of({packet.forwarding.begin, packet.forwarding.end});
  }
  // The first of the expected packets is taken; another one is next.
  ib::PacketPtr take_first();

  Timer timer_;               // of expected_.front()
  ib::PacketQueue expected_;  // by their delivery
  Tracer& tracer_;
  const ComponentId id_;
  const PortNumber number_;
  std::uint32_t failures_ = 0;
  PacketSink& sink_;
  const Delivery delivery_;
  ib::PortCounters& counters_;
  LossListener& losses_;
  [[no_unique_address]] Bytes on_line_;
};

}  // namespace verbatim::fabric

// The receiving end of one direction of a link: packets that have not been delivered to the port's owner,
// in the order of delivery. One event per packet, mostly when its head arrives. The event's source is the
// receiving port, whose name orders arrivals of one instant.
//
// A packet on a failing link is lost at this end, at the time at which it would have been delivered. Both
// ends count the failures of their link, and a packet carries its sender's count from its start. It is lost
// if this end's count differs when it arrives.
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

// In place of a failure count: a scripted fault loses the packet, and its sender has recorded the loss.
inline constexpr std::uint32_t kFaultyPacket = ~0u;

// Notified of expected packets that are lost.
class LossListener {
 public:
  // Without the loss, the packet would have occupied the input buffer until `tail`.
  virtual void on_loss(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant tail) = 0;

 protected:
  ~LossListener() = default;
};

class Arrivals {
 public:
  // Packets are passed to `sink` as arrivals at its port `number`, and counted in `counters`.
  Arrivals(Engine& engine, Tracer& tracer, ComponentId id, PortNumber number, PacketSink& sink, ib::PortCounters& counters,
           LossListener& losses);

  ComponentId id() const { return id_; }
  ib::PortCounters& counters() { return counters_; }
  LossListener& listener() { return losses_; }
  // A packet will arrive at the times in its forwarding state, which are not in the past. The state also
  // has the sender's count of link failures.
  void expect(ib::PacketPtr&& coming);

  // The link fails: packets on it are lost, in both directions.
  void fail() { ++failures_; }
  std::uint32_t failures() const { return failures_; }

 private:
  void on_arrival();
  void prefetch(int step);
  void lose_next();
  Instant delivery_of(const ib::Packet& packet) const {
    return delivery_.of({packet.forwarding.begin, packet.forwarding.end});
  }
  // Removes the first expected packet and schedules the next one.
  ib::PacketPtr take_first();

  Timer timer_;               // delivery of expected_.front()
  ib::PacketQueue expected_;  // by delivery time
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

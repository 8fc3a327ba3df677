// Observers of packets' contents. The trace passes packets through without their type
// (sim/core/traced_packet.h).
#pragma once

#include <cstdint>

#include "sim/core/trace.h"
#include "sim/ib/packet.h"

namespace verbatim::ib {

class PacketObserver : public TracedPacketObserver {
 public:
  // Follows the record of the packet. `port` is the component at whose end of a link the packet is.
  virtual void on_packet(const TraceRecord& record, const Packet& packet, ComponentId port) = 0;

 private:
  void on_traced_packet(const TraceRecord& record, const TracedPacket& packet, ComponentId port) final {
    on_packet(record, static_cast<const Packet&>(packet), port);
  }
};

// Observers of dropped packets, for example to explain a missing answer.
class DropObserver : public TracedDropObserver {
 public:
  // The component drops the packet now. `reason` is a DropReason.
  virtual void on_drop(const Packet& packet, std::uint64_t reason, ComponentId component, Instant now) = 0;

 private:
  void on_traced_drop(const TracedPacket& packet, std::uint64_t reason, ComponentId component, Instant now) final {
    on_drop(static_cast<const Packet&>(packet), reason, component, now);
  }
};

}  // namespace verbatim::ib

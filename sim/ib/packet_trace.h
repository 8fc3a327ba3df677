// Records of packets: the BTH identifies the packet, `detail` is the event's fourth value. An Ethernet frame
// of a program has no BTH: kFrameRecord and its two addresses replace opcode, queue pair and PSN.
#pragma once

#include <cstdint>

#include "sim/core/trace.h"
#include "sim/ib/drop_reason.h"
#include "sim/ib/packet.h"

namespace verbatim::ib {

inline constexpr std::uint64_t kFrameRecord = 0x100;  // not an 8-bit opcode

// `port` is the place where an observer of the wire would see the packet; not part of the record.
inline void record(Tracer& tracer, ComponentId component, TraceEvent event, const Packet& packet,
                   std::uint64_t detail, ComponentId port) {
  if (packet.is_frame) [[unlikely]] {
    tracer.record_packet(component, event, kFrameRecord, packet.ethernet->destination.value,
                         packet.ethernet->source.value, detail, packet, port);
    return;
  }
  const Bth& bth = packet.bth;
  tracer.record_packet(component, event, static_cast<std::uint64_t>(bth.opcode), bth.destination.value,
                       bth.psn.value, detail, packet, port);
}

inline void record(Tracer& tracer, ComponentId port, TraceEvent event, const Packet& packet,
                   std::uint64_t detail) {
  record(tracer, port, event, packet, detail, port);
}

inline void record_drop(Tracer& tracer, ComponentId component, const Packet& packet, DropReason reason,
                        ComponentId port) {
  record(tracer, component, TraceEvent::kPacketDropped, packet, static_cast<std::uint64_t>(reason), port);
  if (packet.trail) [[unlikely]] packet.trail.note_loss(loss_of(reason), component);
  tracer.report_drop(packet, static_cast<std::uint64_t>(reason), component);
}

}  // namespace verbatim::ib

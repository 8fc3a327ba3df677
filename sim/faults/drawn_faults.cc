#include "sim/faults/drawn_faults.h"

#include "sim/ib/packet_trace.h"

namespace verbatim::faults {

DrawnFaults::Ahead DrawnFaults::draw(ComponentId port) {
  const std::uint32_t answer = choices_.choose(kPacketFault, port, 1 + kDistanceOctaves * kDistanceSteps);
  if (answer == 0) return {std::uint64_t{1} << kDistanceOctaves, false};
  const std::uint32_t octave = (answer - 1) / kDistanceSteps, step = (answer - 1) % kDistanceSteps;
  return {(std::uint64_t{1} << octave) * (kDistanceSteps + step) / kDistanceSteps, true};
}

fabric::PacketFate DrawnFaults::on_packet(const fabric::Port& port, ib::Packet& packet) {
  fabric::PacketFate fate = script_.on_packet(port, packet);
  if (left_ == 0 || packet.lrh.lane == fabric::kManagementLane) return fate;
  Ahead& ahead = ahead_[port.id()];
  if (ahead.packets == 0) ahead = draw(port.id());
  if (--ahead.packets > 0 || !ahead.is_hit) return fate;
  --left_;
  ++fired_;
  enum Kind : std::uint32_t { kLost, kDuplicated, kLate, kKinds };
  const std::uint32_t kind = choices_.choose(kPacketFaultKind, port.id(), kKinds);
  ib::record(tracer_, port.id(), TraceEvent::kFault, packet, kFirstDrawnRule + kind);
  if (kind == kLost) fate.is_lost = true;
  if (kind == kDuplicated) fate.is_duplicated = true;
  if (kind == kLate) fate.delay += kPacketFaultDelay.choose(choices_, port.id());
  return fate;
}

}  // namespace verbatim::faults

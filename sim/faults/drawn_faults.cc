#include "sim/faults/drawn_faults.h"

#include "sim/ib/packet_trace.h"

namespace verbatim::faults {

DrawnFaults::Ahead DrawnFaults::draw(ComponentId port) {
  const std::uint32_t answer = choices_.choose(kPacketFault, port, 1 + kDistanceOctaves * kDistanceSteps);
  if (answer == 0) return {std::uint64_t{1} << kDistanceOctaves, false};
  return {drawn_distance(answer - 1), true};
}

fabric::PacketFate DrawnFaults::on_packet(const fabric::Port& port, ib::Packet& packet) {
  fabric::PacketFate fate = script_.on_packet(port, packet);
  if (left_ == 0 || packet.lrh.lane == fabric::kManagementLane) return fate;
  Ahead& ahead = ahead_[port.id()];
  if (ahead.packets == 0) ahead = draw(port.id());
  if (--ahead.packets > 0 || !ahead.is_hit) return fate;
  --left_;
  ++fired_;
  const std::uint32_t number = choices_.choose(kPacketFaultKind, port.id(), kDrawnFaultKinds);
  ib::record(tracer_, port.id(), TraceEvent::kFault, packet, kFirstDrawnRule + number);
  const auto kind = static_cast<DrawnFaultKind>(number);
  if (kind == DrawnFaultKind::kLost) fate.is_lost = true;
  if (kind == DrawnFaultKind::kDuplicated) fate.is_duplicated = true;
  if (kind == DrawnFaultKind::kLate) fate.delay += kPacketFaultDelay.choose(choices_, port.id());
  return fate;
}

}  // namespace verbatim::faults

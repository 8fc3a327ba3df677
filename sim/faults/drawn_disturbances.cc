#include "sim/faults/drawn_disturbances.h"

#include <algorithm>

#include "sim/ib/opcode.h"
#include "sim/ib/packet_trace.h"

namespace verbatim::faults {

namespace {

// Queue pairs of programs; those of management, 0 and 1, repeat what is lost.
bool is_datagram_of_program(const ib::Packet& packet) {
  return ib::transport_of(packet.bth.opcode) == ib::Transport::kUd && packet.bth.destination.value > 1;
}

}  // namespace

bool DrawnDisturbances::is_hit(Ahead& ahead, std::string_view site, ComponentId port, std::uint64_t& left) {
  if (left == 0) return false;
  if (ahead.packets == 0) {
    const std::uint32_t answer = choices_.choose(site, port, 1 + kDistanceOctaves * kDistanceSteps);
    ahead.is_hit = answer != 0;
    ahead.packets = answer == 0 ? std::uint64_t{1} << kDistanceOctaves
                                : drawn_distance(kDistanceOctaves * kDistanceSteps - answer);
  }
  if (--ahead.packets > 0 || !ahead.is_hit) return false;
  --left;
  return true;
}

fabric::PacketFate DrawnDisturbances::on_packet(const fabric::Port& port, ib::Packet& packet) {
  fabric::PacketFate fate = others_.on_packet(port, packet);
  if (packet.lrh.lane == fabric::kManagementLane) return fate;
  PortState& state = ports_[port.id()];
  delay_link(state, port, packet, fate);
  if (lost_left_ + overtaken_left_ + duplicated_left_ > 0 && is_datagram_of_program(packet))
    disturb_datagram(state, port, packet, fate);
  return fate;
}

void DrawnDisturbances::delay_link(PortState& state, const fabric::Port& port, const ib::Packet& packet,
                                   fabric::PacketFate& fate) {
  const Instant now = engine_.now();
  if (is_hit(state.delay, kLinkDelay, port.id(), delays_left_)) {
    const Duration longest = patience_ ? patience_() / (2 * static_cast<std::int64_t>(kMostDelays)) : Duration::max();
    // A link that is slow already does not become faster: packets would overtake.
    const Duration left = state.slow_by - (now - state.slow_since) / 2;
    state.slow_by = std::max(left, std::min(kLinkDelayLength.choose(choices_, port.id()), longest));
    state.slow_since = now;
    if (state.slow_by > Duration::zero()) record(port, packet, DrawnFaultKind::kLate);
  }
  if (state.slow_by <= Duration::zero()) return;
  const Duration left = state.slow_by - (now - state.slow_since) / 2;
  if (left > Duration::zero()) fate.delay += left;
  else state.slow_by = Duration::zero();
}

void DrawnDisturbances::disturb_datagram(PortState& state, const fabric::Port& port, const ib::Packet& packet,
                                         fabric::PacketFate& fate) {
  if (is_hit(state.lost, kDatagramLost, port.id(), lost_left_)) {
    fate.is_lost = true;
    return record(port, packet, DrawnFaultKind::kLost);
  }
  if (is_hit(state.overtaken, kDatagramOvertaken, port.id(), overtaken_left_)) {
    fate.delay += kDatagramDelay.choose(choices_, port.id());
    return record(port, packet, DrawnFaultKind::kLate);
  }
  if (is_hit(state.duplicated, kDatagramDuplicated, port.id(), duplicated_left_)) {
    fate.is_duplicated = true;
    record(port, packet, DrawnFaultKind::kDuplicated);
  }
}

void DrawnDisturbances::record(const fabric::Port& port, const ib::Packet& packet, DrawnFaultKind kind) const {
  ib::record(tracer_, port.id(), TraceEvent::kFault, packet, kFirstDrawnRule + static_cast<std::uint64_t>(kind));
}

}  // namespace verbatim::faults

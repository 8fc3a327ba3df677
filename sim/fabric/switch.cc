#include "sim/fabric/switch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/core/check.h"
#include "sim/fabric/flow_hash.h"
#include "sim/ib/group_address.h"
#include "sim/ib/lid_ranges.h"
#include "sim/ib/packet_trace.h"

namespace verbatim::fabric {

Switch::Switch(Engine& engine, Tracer& tracer, ComponentId id, const SwitchProfile& profile,
               const std::vector<ComponentId>& port_ids)
    : engine_(engine),
      tracer_(tracer),
      id_(id),
      has_priorities_(profile.virtual_lanes > 1),
      clock_(profile.core_clock_hz),
      rerouting_(profile.withdrawal_delay),
      buffer_({profile.vl15_buffer_bytes, profile.crossbar_speedup, profile.shared_memory}, PortNumber{1}, port_ids.size()),
      profile_(profile),
      priorities_(profile.trust, profile.dscp_to_priority) {
  CHECK(!port_ids.empty() && port_ids.size() < kNoRoute.value);
  PortParams params;
  params.virtual_lanes = profile.virtual_lanes;
  params.input_buffer_bytes = profile.input_buffer_bytes;
  params.head_lifetime = profile.head_lifetime;
  params.stall_count = profile.stall_count;
  params.lifetime = profile.lifetime;
  params.arbitration = profile.arbitration;
  params.shared_arbitration = std::make_shared<const ArbiterTables>(profile.arbitration.or_default());
  params.sl_to_vl = profile.sl_to_vl;
  inputs_.reserve(port_ids.size());
  for (std::size_t i = 0; i < port_ids.size(); ++i) {
    const PortNumber number{static_cast<std::uint8_t>(i + 1)};
    inputs_.push_back({std::make_unique<Port>(engine, tracer, port_ids[i], number, params, *this, &buffer_), 0});
  }
}

void Switch::receive(PortNumber in, ib::PacketPtr packet, ArrivalTimes times) {
  Input& input = inputs_[in.value - 1u];
  const std::uint32_t wire_bytes = packet->sent_bytes;
  if (has_priorities_ && packet->ethernet) classify(*input.port, *packet);
  if (!input.port->admit(*packet)) {
    return ib::record_drop(tracer_, input.port->id(), *packet, full_buffer_reason(packet->lrh.lane), input.port->id());
  }
  check_claims();
  const ArrivalCheck check(buffer_.bytes_of(in));
  if (!input.port->carries(packet->lrh.lane)) [[unlikely]] {
    return drop(*input.port, *packet, wire_bytes, times.tail, DropReason::kNotActive);
  }
  const std::int64_t lookup = std::max(clock_.next_edge_number(times.head), input.next_lookup_edge);
  input.next_lookup_edge = lookup + profile_.lookup_interval_cycles;

  if (is_for_agent(*packet)) [[unlikely]] {
    input.port->release(packet->lrh.lane, wire_bytes, times.tail);
    return agent_->on_packet(in, std::move(packet), times.tail);
  }
  if (packet->is_to_group) [[unlikely]] return replicate(in, std::move(packet), wire_bytes, lookup, times);
  const PortNumber number = output_for(*packet);
  // IEEE 802.1Q 8.6.3: a frame to an unknown station leaves by all ports of the spanning tree, as a frame
  // to a group.
  if (packet->is_frame && number == kNoRoute) return replicate(in, std::move(packet), wire_bytes, lookup, times);
  if (number.value == 0) return drop(*input.port, *packet, wire_bytes, times.tail, DropReason::kOwnLid);
  if (number.value > inputs_.size())
    return drop(*input.port, *packet, wire_bytes, times.tail, DropReason::kNoRoute);
  Port& out = *inputs_[number.value - 1u].port;
  if (!out.is_up()) {
    ++out.counters().xmit_discards;
    if (packet->trail) [[unlikely]] packet->trail.note_loss(TrailLoss::kDeadLink, out.id());
    return drop(*input.port, *packet, wire_bytes, times.tail, DropReason::kLinkDown);
  }
  if (!out.carries(packet->lrh.lane)) [[unlikely]] {
    return drop(*input.port, *packet, wire_bytes, times.tail, DropReason::kNotActive);
  }

  const ib::VirtualLane in_lane = packet->lrh.lane;
  const ib::VirtualLane lane = lane_at(in, out, *packet);
  if (lane == kManagementLane && in_lane != kManagementLane)
    return drop(*input.port, *packet, wire_bytes, times.tail, DropReason::kNoLane);
  if (!buffer_.may_queue(in, in_lane, out.queued_bytes(lane), wire_bytes)) [[unlikely]] {
    ++out.counters().xmit_discards;
    if (packet->trail) [[unlikely]] packet->trail.note_loss(TrailLoss::kFullBuffer, out.id());
    return drop(*input.port, *packet, wire_bytes, times.tail, DropReason::kOutputQueue);
  }
  const Instant ready = ready_at(*input.port, out, lookup, times, *packet, wire_bytes);
  ib::record(tracer_, id_, TraceEvent::kPacketForwarded, *packet, number.value, input.port->id());
  packet->lrh.lane = lane;
  buffer_.bytes_of(in).claimed.enter(wire_bytes);
  out.forward(std::move(packet), times, ready, {in, in_lane});
}

void Switch::prefetch(PortNumber in, ib::Packet& packet, int step) {
  if (packet.is_to_group || balancer_ != nullptr || engine_.now() >= rerouting_.normal_until()) return;
  if (step < 3) buffer_.prefetch_admit(in, packet.lrh.lane, step);
  if (step == 0) {
    prefetch_lines(&inputs_[in.value - 1u], 0, 1);
    if (is_ethernet_ && packet.flow_hash == 0) prefetch_lines(&packet, 2, 2);  // the hash is of its addresses
    return prefetch_lines(routes_.get(), 0, 2);
  }
  if (step == 1) return routes_->prefetch(destination_of(packet));
  const PortNumber number = output_for(packet);
  if (number.value == 0 || number.value > inputs_.size()) return;
  const Port& out = *inputs_[number.value - 1u].port;
  if (step == 2) return out.prefetch();
  if (step == 3 && has_priorities_) out.prefetch_lane(packet.lrh.lane);
  step == 3 ? out.prefetch_far_end() : out.prefetch_flow_control();
}

void Switch::check_claims() {
  if constexpr (!kChecksConservation) return;
  for (const Input& input : inputs_) {
    if (input.port->has_any_queued()) return;
  }
  for (const Input& input : inputs_) buffer_.bytes_of(input.port->number()).claimed.expect(0);
}

void Switch::classify(const Port& in, ib::Packet& packet) const {
  packet.lrh.service_level = priority_of(packet);
  // Credits belong to the lane that the sender chose; pauses and drops to the priority that this switch
  // determines.
  if (in.has_credits()) return;
  if (const ib::VirtualLane lane = in.lane_of(packet.lrh.service_level); lane != kManagementLane) packet.lrh.lane = lane;
}

bool Switch::is_for_agent(ib::Packet& packet) {
  if (agent_ == nullptr || packet.ethernet) return false;
  if (packet.lrh.destination == ib::kPermissiveLid) return packet.lrh.lane == kManagementLane;
  constexpr std::uint32_t kSpecialQueues = 2;
  return packet.bth.destination.value < kSpecialQueues && output_for(packet).value == 0;
}

void Switch::send(PortNumber out, ib::PacketPtr packet) {
  if (out.value == 0 || out.value > inputs_.size()) return ib::record_drop(tracer_, id_, *packet, DropReason::kNoRoute, id_);
  Port& port = *inputs_[out.value - 1u].port;
  if (packet->lrh.lane != kManagementLane) {
    packet->lrh.lane = port.lane_of(packet->lrh.service_level);
    if (packet->lrh.lane == kManagementLane) return ib::record_drop(tracer_, id_, *packet, DropReason::kNoLane, port.id());
  }
  port.send(std::move(packet));
}

void Switch::send(ib::PacketPtr packet) {
  packet->flow_hash = 0;
  const PortNumber out = output_for(*packet);
  send(out, std::move(packet));
}

void Switch::link_changed(PortNumber port, bool up) {
  if (is_ethernet_) rerouting_.on_link(port, up, engine_.now());
  if (agent_ != nullptr) agent_->on_link(port, up);
}

const std::vector<PortNumber>& Switch::group_ports(const ib::Packet& packet) {
  static const std::vector<PortNumber> kNone;
  if (const std::vector<PortNumber>* const changed = rerouting_.multicast_ports(engine_.now())) return *changed;
  if (!multicast_table_ || packet.ethernet) return multicast_ports_;
  const std::size_t group = packet.lrh.destination.value - ib::kFirstMulticastLid.value;
  return group < multicast_table_->size() ? (*multicast_table_)[group] : kNone;
}

void Switch::set_lane_table(PortNumber in, PortNumber out, const std::vector<LevelMapping>& mappings) {
  const std::size_t ports = inputs_.size() + 1;
  turn_lanes_.resize(ports * ports);
  turn_lanes_.at(in.value * ports + out.value).emplace(mappings);
}

ib::VirtualLane Switch::lane_at(PortNumber in, const Port& out, const ib::Packet& packet) const {
  if (packet.lrh.lane == kManagementLane) return kManagementLane;
  if (!turn_lanes_.empty()) [[unlikely]] {
    const std::optional<LaneTable>& turn = turn_lanes_[in.value * (inputs_.size() + 1) + out.number().value];
    if (turn) return turn->of(packet.lrh.service_level, out.operational_lanes());
  }
  return out.lane_of(packet.lrh.service_level);
}

Instant Switch::ready_at(const Port& in, const Port& out, std::int64_t lookup, ArrivalTimes times,
                         ib::Packet& packet, std::uint32_t wire_bytes) const {
  // An output that is faster than the input would run dry in cut-through mode.
  const bool wait_for_tail = is_faster(out.link().byte_time, in.link().byte_time);
  const std::int64_t from = wait_for_tail ? std::max(lookup, clock_.next_edge_number(times.tail)) : lookup;
  const Instant ready = clock_.edge(from + profile_.cut_through_cycles);
  if (Trail& trail = packet.trail) [[unlikely]] {
    trail.add(clock_.next_edge(times.head), {id_, "lookup", TrailKind::kEdge});
    trail.add(clock_.edge(lookup), {id_, "lookup", TrailKind::kBusy});
    if (wait_for_tail) {
      trail.add(std::max(trail.end(), times.tail),
                {id_, "store and forward", TrailKind::kBytes, wire_bytes - in.link().header_bytes});
      trail.add(clock_.edge(from), {id_, "store and forward", TrailKind::kEdge});
    }
    trail.add(ready, {id_, "forwarding", TrailKind::kCycles, profile_.cut_through_cycles});
  }
  return ready;
}

void Switch::replicate(PortNumber in, ib::PacketPtr packet, std::uint32_t wire_bytes, std::int64_t lookup,
                       ArrivalTimes times) {
  Port& input = *inputs_[in.value - 1u].port;
  std::vector<PortNumber> outputs;
  for (const PortNumber port : group_ports(*packet)) {
    const Port& out = *inputs_[port.value - 1u].port;
    if (port == in || !out.is_up() || !out.carries(packet->lrh.lane)) continue;
    if (lane_at(in, out, *packet) == kManagementLane && packet->lrh.lane != kManagementLane) continue;
    outputs.push_back(port);
  }
  if (outputs.empty()) return drop(input, *packet, wire_bytes, times.tail, DropReason::kNoRoute);
  const ib::VirtualLane in_lane = packet->lrh.lane;
  const std::uint32_t claim = buffer_.share_claim(static_cast<std::uint32_t>(outputs.size()));
  buffer_.bytes_of(in).claimed.enter(wire_bytes);
  for (const PortNumber number : outputs) {
    Port& out = *inputs_[number.value - 1u].port;
    ib::record(tracer_, id_, TraceEvent::kPacketForwarded, *packet, number.value, input.id());
    ib::PacketPtr copy = number == outputs.back() ? std::move(packet) : std::make_unique<ib::Packet>(*packet);
    const Instant ready = ready_at(input, out, lookup, times, *copy, wire_bytes);
    copy->lrh.lane = lane_at(in, out, *copy);
    out.forward(std::move(copy), times, ready, {in, in_lane, claim});
  }
}

PortNumber Switch::balanced_output(ib::Packet& packet) {
  const Instant now = engine_.now();
  std::vector<PortNumber> in_use;
  std::span<const PortNumber> ports;
  if (now >= rerouting_.normal_until()) [[unlikely]] {
    record_withdrawals();
    ports = in_use = rerouting_.outputs_in_use(*routes_, destination_of(packet), now);
    if (ports.empty()) return kNoRoute;
  } else {
    const RouteTable::Entry entry = route_of(packet);
    if (!RouteTable::is_set(entry)) return PortNumber{static_cast<std::uint8_t>(entry)};
    ports = routes_->ports_of(entry);
  }
  if (packet.flow_hash == 0) packet.flow_hash = flow_hash(packet);
  return balanced_output(ports, packet);
}

PortNumber Switch::balanced_output(std::span<const PortNumber> ports, const ib::Packet& packet) {
  return balancer_->choose(ports, packet, engine_.now(), [&](PortNumber number) {
    const Port& out = *inputs_[number.value - 1u].port;
    const ib::VirtualLane lane = out.lane_of(packet.lrh.service_level);
    return lane == kManagementLane ? 0 : out.queued_bytes(lane);
  });
}

PortNumber Switch::fixed_output(const ib::Packet& packet) {
  if (engine_.now() >= rerouting_.normal_until()) [[unlikely]] return swept_output_for(packet);
  return PortNumber{static_cast<std::uint8_t>(route_of(packet))};
}

PortNumber Switch::adaptive_output(const ib::Packet& packet) {
  const PortNumber fixed = fixed_output(packet);
  const RouteTable* const groups = rerouting_.groups(groups_.get(), engine_.now());
  const RouteTable::Entry entry = groups == nullptr ? RouteTable::kNone : groups->entry(destination_of(packet));
  if (entry == RouteTable::kNone) return fixed;
  if (!RouteTable::is_set(entry)) return PortNumber{static_cast<std::uint8_t>(entry)};
  const std::span<const PortNumber> ports = groups->ports_of(entry);
  const auto is_up = [this](PortNumber port) { return inputs_[port.value - 1u].port->is_up(); };
  if (std::ranges::all_of(ports, is_up)) [[likely]] return balanced_output(ports, packet);
  std::vector<PortNumber> intact;
  std::ranges::copy_if(ports, std::back_inserter(intact), is_up);
  return intact.empty() ? fixed : balanced_output(intact, packet);
}

PortNumber Switch::output_for(ib::Packet& packet) {
  if (balancer_ != nullptr && balancer_->chooses_for(packet)) [[unlikely]]
    return is_ethernet_ ? balanced_output(packet) : adaptive_output(packet);
  if (engine_.now() >= rerouting_.normal_until()) [[unlikely]] {
    if (!is_ethernet_) return swept_output_for(packet);
    record_withdrawals();
    if (packet.flow_hash == 0) packet.flow_hash = flow_hash(packet);
    return rerouting_.output(*routes_, destination_of(packet), packet.flow_hash, ecmp_salt_, engine_.now());
  }
  const RouteTable::Entry entry = route_of(packet);
  if (!RouteTable::is_set(entry)) return PortNumber{static_cast<std::uint8_t>(entry)};
  if (packet.flow_hash == 0) packet.flow_hash = flow_hash(packet);
  return output_among(routes_->ports_of(entry), packet);
}

void Switch::record_withdrawals() {
  rerouting_.record_changes(engine_.now(), [this](PortNumber port) {
    tracer_.record(inputs_[port.value - 1u].port->id(), TraceEvent::kRoutesChanged, 1);
  });
}

PortNumber Switch::swept_output_for(const ib::Packet& packet) {
  const RouteTable* const swept = rerouting_.routes(engine_.now());
  if (RouteSweep* const sweep = rerouting_.unrecorded_sweep()) {
    sweep->is_recorded = true;
    tracer_.record(sweep->manager, TraceEvent::kRoutesChanged, sweep->tables);
  }
  return PortNumber{static_cast<std::uint8_t>((swept == nullptr ? *routes_ : *swept).entry(destination_of(packet)))};
}

PortNumber Switch::output_among(std::span<const PortNumber> ports, const ib::Packet& packet) const {
  return ports[ecmp_index(packet.flow_hash, ecmp_salt_, static_cast<std::uint32_t>(ports.size()))];
}

void Switch::drop(Port& in, const ib::Packet& packet, std::uint32_t wire_bytes, Instant tail,
                  DropReason reason) {
  if (reason == DropReason::kNoRoute || reason == DropReason::kNoLane) ++in.counters().rcv_switch_relay_errors;
  ib::record_drop(tracer_, id_, packet, reason, in.id());
  in.release(packet.lrh.lane, wire_bytes, tail);
}

}  // namespace verbatim::fabric

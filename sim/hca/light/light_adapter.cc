#include "sim/hca/light/light_adapter.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/ib/group_address.h"
#include "sim/ib/opcode.h"
#include "sim/ib/packet_trace.h"

namespace verbatim::hca {

LightAdapter::LightAdapter(Engine& engine, Tracer& tracer, Choices& choices, ComponentId id, const HcaProfile& profile,
                           PortAddress address)
    : engine_(engine),
      tracer_(tracer),
      choices_(choices),
      id_(id),
      profile_(profile),
      delays_(profile),
      address_(std::move(address)),
      congestion_(profile.congestion_control),
      doorbells_(DelayLine<Doorbell>::of<&LightAdapter::on_doorbell>(engine, id, EventClass::kStage, this)),
      completions_(DelayLine<Completion>::of<&LightAdapter::on_completion>(engine, id, EventClass::kStage, this)),
      paced_(PacingCalendar<LightQueuePair*>::of<&LightAdapter::on_paced>(engine, id, this)),
      recoveries_(RecoveryDelays<LightQueuePair*>::of<&LightAdapter::on_recovery>(engine, id, this)) {}

void LightAdapter::on_recovery() {
  if (has_failed_) return;
  take_due(recoveries_, now(), [](const PutOff<LightQueuePair*>& step) { step.qp->recover(step); });
}

std::unique_ptr<LightEndpoint> LightEndpoint::make(Engine& engine, Tracer& tracer, Choices& choices, ComponentId id,
                                                   const HcaProfile& profile, const PortAddress& address) {
  return std::make_unique<LightAdapter>(engine, tracer, choices, id, profile, address);
}

void LightAdapter::attach(fabric::Port& port) {
  port_ = &port;
  port.set_room_listener(this, &LightAdapter::on_room);
}

SourceEnd LightAdapter::add_source(WorkSource& source, std::uint32_t depth) {
  CHECK(qps_.size() < profile_.max_qp && depth > 0 && depth <= profile_.max_qp_wr);
  const auto number = kFirstQueuePairNumber + static_cast<std::uint32_t>(qps_.size());
  return qps_.emplace_back(*this, number, source, depth).end();
}

LightQueuePair* LightAdapter::find(std::uint32_t number) {
  const std::uint32_t index = number - kFirstQueuePairNumber;
  return number >= kFirstQueuePairNumber && index < qps_.size() ? &qps_[index] : nullptr;
}

void LightAdapter::set_injection(const ib::InjectionSetting& setting) {
  congestion_.set_injection(setting);
  for (LightQueuePair& qp : qps_) {
    if (qp.state() == ib::QpState::kRts) qp.renew_pacer();
  }
}

void LightAdapter::connect_source(std::uint32_t qpn, const SourcePath& path) {
  LightQueuePair* const qp = find(qpn);
  CHECK(qp != nullptr);
  qp->connect(path);
}

void LightAdapter::post_source(std::uint32_t qpn, std::uint32_t count) {
  if (has_failed_) return;
  LightQueuePair* const qp = find(qpn);
  CHECK(qp != nullptr);
  const Instant decoded = now() + delays_.request;
  Trail trail = tracer_.trail(now());
  trail.add(decoded, {id_, "doorbell, fetch and decoding", TrailKind::kDelay});
  doorbells_.push(decoded, {qp, qp->announce(count), std::move(trail)});
}

void LightAdapter::fail() {
  if (std::exchange(has_failed_, true)) return;
  for (LightQueuePair& qp : qps_) {
    qp.stop();
    qp.source().on_adapter_failed(qp.number);
  }
}

void LightAdapter::acknowledge(ib::PacketPtr packet) {
  const Instant ready = now() + delays_.acknowledge;
  packet->trail.add(ready, {id_, "acknowledge", TrailKind::kDelay});
  send(std::move(packet), ready);
}

void LightAdapter::complete(Completion&& completion) {
  const Instant visible = now() + delays_.complete;
  completion.trail.add(visible, {id_, "completion", TrailKind::kDelay});
  completions_.push(visible, std::move(completion));
}

void LightAdapter::on_completion(Completion&& completion) {
  if (has_failed_) return;
  const std::uint32_t number = completion.qp->number;
  tracer_.record(id_, TraceEvent::kCompletion, 0, number, completion.wr_id, static_cast<std::uint64_t>(completion.status));
  if (!completion.is_receive) {
    completion.qp->source().on_completed(number, completion.status);
  } else if (completion.status == ib::WcStatus::kSuccess) {
    completion.qp->source().on_received(number, completion.bytes);
  }
  if (!completion.trail) [[likely]]
    return;
  const MessageEnd end = completion.is_receive ? MessageEnd::kReceived : MessageEnd::kCompleted;
  tracer_.report({end, id_, number, static_cast<std::uint32_t>(completion.status), now(), completion.trail});
}

void LightAdapter::activate(LightQueuePair& qp) {
  if (has_failed_ || qp.is_listed || !qp.has_packet()) return;
  qp.gathers_since = now();
  pump(enlist(qp));
}

ib::VirtualLane LightAdapter::enlist(LightQueuePair& qp) {
  const ib::VirtualLane lane = port_->lane_of(qp.next_service_level());
  if (turns_.size() <= lane.value) turns_.resize(lane.value + std::size_t{1});
  turns_[lane.value].push_back(&qp);
  qp.is_listed = true;
  return lane;
}

// Without a link, or a lane, each queue pair loses one packet and then sends none, until its transport timer
// expires or the link returns.
void LightAdapter::pump(ib::VirtualLane lane) {
  const std::uint32_t bit = 1u << lane.value;
  if ((pumping_ & bit) != 0) return;
  pumping_ |= bit;
  const auto may_send = [&] { return !has_failed_ && port_->has_room(lane); };
  while (!turns_[lane.value].empty() && may_send()) {
    LightQueuePair& qp = *turns_[lane.value].pop_front();
    bool has_packet = qp.has_packet();
    while (has_packet && send_next(qp)) {
      has_packet = qp.has_packet() && port_->is_up() && lane != fabric::kManagementLane;
      if (!has_packet) break;
      // A queue pair that is alone has the next turn, too.
      if (turns_[lane.value].empty() && may_send() && port_->lane_of(qp.next_service_level()) == lane) continue;
      enlist(qp);
      break;
    }
    if (!has_packet) qp.is_listed = false;
  }
  pumping_ &= ~bit;
}

bool LightAdapter::send_next(LightQueuePair& qp) {
  if (qp.pacer != nullptr) [[unlikely]] {
    if (const std::optional<Instant> again = qp.put_off_until()) {
      qp.is_listed = *again != kNever;
      if (qp.is_listed) paced_.add(*again, &qp);
      return false;
    }
  }
  Instant ready{};
  const auto handed_over_at = [&](std::uint32_t bytes) {
    return ready = qp.handed_over = std::max({now(), qp.gathers_since + delays_.send(bytes), qp.handed_over});
  };
  ib::PacketPtr packet = qp.take_packet(now(), handed_over_at);
  send(std::move(packet), ready);
  return true;
}

// The gather of a delayed packet begins when its delay is over.
void LightAdapter::on_paced() {
  std::uint32_t lanes = 0;
  paced_.take_due(now(), [&](LightQueuePair* qp) {
    qp->is_listed = false;
    if (has_failed_) return;
    if (!qp->has_packet()) {
      qp->limited_since = kNever;
      return;
    }
    qp->gathers_since = now();
    lanes |= 1u << enlist(*qp).value;
  });
  for (; lanes != 0; lanes &= lanes - 1) pump(ib::VirtualLane{static_cast<std::uint8_t>(std::countr_zero(lanes))});
}

std::optional<ByteTime> LightAdapter::line() const {
  if (port_ == nullptr || !port_->connected()) return std::nullopt;
  return port_->link().byte_time;
}

// Packets of a service level without a lane are dropped (IBA 7.6.6).
void LightAdapter::send(ib::PacketPtr packet, Instant ready) {
  packet->lrh.lane = port_->lane_of(packet->lrh.service_level);
  if (packet->lrh.lane == fabric::kManagementLane) return drop(*packet, DropReason::kNoLane);
  port_->send(std::move(packet), ready);
}

void LightAdapter::on_room(void* self, ib::VirtualLane lane) {
  auto* const adapter = static_cast<LightAdapter*>(self);
  if (lane.value < adapter->turns_.size()) adapter->pump(lane);
}

void LightAdapter::drop(const ib::Packet& packet, DropReason reason) const {
  ib::record_drop(tracer_, id_, packet, reason, port_->id());
}

void LightAdapter::receive(fabric::PortNumber, ib::PacketPtr packet, fabric::ArrivalTimes times) {
  const ib::VirtualLane lane = packet->lrh.lane;
  if (Trail& trail = packet->trail) [[unlikely]] {
    const std::uint32_t rest = packet->wire_bytes() - port_->link().header_bytes;
    trail.add(times.tail, {id_, "link: rest of the packet", TrailKind::kBytes, rest});
    trail.add(now(), {id_, "receive check", TrailKind::kDelay});
  }
  if (!port_->admit(*packet)) {
    return ib::record_drop(tracer_, port_->id(), *packet, fabric::full_buffer_reason(lane), port_->id());
  }
  const std::uint32_t wire_bytes = packet->wire_bytes();
  has_failed_ ? drop(*packet, DropReason::kUnknownQp) : deal_with(packet);
  port_->release(lane, wire_bytes, now());
}

void LightAdapter::prefetch(fabric::PortNumber, ib::Packet& packet, int step) {
  if (step == 0) {
    prefetch_lines(this, 7, 2);  // the port and the queue pairs; the sender of the hint prefetched the lines before
    return prefetch_lines(&packet, 2, 2);
  }
  const LightQueuePair* const qp = step == 1 ? find(packet.bth.destination.value) : nullptr;
  if (qp != nullptr) prefetch_lines(qp, 0, sizeof(LightQueuePair) / kCacheLineBytes);
}

void LightAdapter::prefetch_room(ib::VirtualLane lane, int step) {
  if (step == 0) {
    prefetch_lines(this, 0, 2);
    prefetch_lines(this, 7, 2);
  }
  if (step == 0 || lane.value >= turns_.size()) return;
  const Ring<LightQueuePair*>& turns = turns_[lane.value];
  if (step == 1) return prefetch_lines(&turns, 0, 1);
  if (turns.empty()) return;
  if (step == 2) return turns.prefetch_front();
  if (step == 3) prefetch_lines(turns.front(), 0, sizeof(LightQueuePair) / kCacheLineBytes);
}

void LightAdapter::deal_with(ib::PacketPtr& owned) {
  ib::Packet& packet = *owned;
  if (packet.corrupted) {
    ++port_->counters().rcv_errors;
    return drop(packet, DropReason::kCorrupted);
  }
  if (ib::is_to_group(packet)) return drop(packet, DropReason::kUnknownQp);  // no queue pair here joins one
  if (!address_.is_destination_of(packet)) return drop(packet, DropReason::kWrongLid);
  if (packet.ethernet && !address_.has_vlan_of(packet)) return drop(packet, DropReason::kWrongVlan);
  const ib::OpcodeInfo& operation = ib::info(packet.bth.opcode);
  if (!operation.defined) return drop(packet, DropReason::kUndefinedOpcode);
  LightQueuePair* const qp = find(packet.bth.destination.value);
  if (qp == nullptr) return drop(packet, DropReason::kUnknownQp);
  qp->receive(owned, operation);
}

void LightAdapter::link_changed(fabric::PortNumber, bool up) {
  if (!up) return;
  for (LightQueuePair& qp : qps_) activate(qp);
}

}  // namespace verbatim::hca

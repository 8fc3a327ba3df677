#include "sim/fabric/output_scheduler.h"

namespace verbatim::fabric {

OutputScheduler::OutputScheduler(const Params& params, const ArbitrationTables& arbitration, SharedArbiterTables shared)
    : has_switch_lifetime_(params.has_switch_lifetime),
      stall_count_(params.stall_count),
      arbiter_(shared != nullptr ? std::move(shared) : std::make_shared<const ArbiterTables>(arbitration.or_default())) {
  set_data_lanes(params.data_lanes);
  set_head_lifetime(params.head_lifetime);
  served_ = served_by(arbiter_.tables());
}

void OutputScheduler::set_data_lanes(std::uint32_t lanes) {
  CHECK(lanes >= 1 && lanes <= 15 && waiting_ == 0);
  lanes_ = std::make_unique<Lane[]>(lanes + 1);
  data_lanes_ = static_cast<std::uint8_t>(lanes);
}

void OutputScheduler::set_head_lifetime(Duration lifetime) {
  head_lifetime_ = lifetime;
  has_lifetime_ = lifetime > Duration(0) || has_switch_lifetime_;
}

void OutputScheduler::set_arbitration(const ArbitrationTables& tables) {
  auto all = std::make_shared<const ArbiterTables>(tables.or_default());
  if (arbiter_.tables() == *all) return;
  arbiter_ = VlArbiter(std::move(all));
  served_ = served_by(arbiter_.tables());
  waiting_ = 0;
  for (std::uint32_t i = 0; i <= data_lanes_; ++i) {
    const std::uint32_t number = i < data_lanes_ ? i : kManagementLane.value;
    if (!lanes_[i].queue.empty()) waiting_ |= 1u << number & served_;
  }
}

std::size_t OutputScheduler::push(ib::PacketPtr&& packet, const QueuedState& state, std::shared_ptr<SharedClaim>&& shared,
                                  ib::VirtualLane number, Instant now) {
  Lane& lane = at(number);
  add_bytes(lane, state.wire_bytes);
  std::size_t place = lane.queue.size();
  const auto comes_last = [&state](const QueuedPacket& before) { return before.state.ready <= state.ready; };
  if (QueuedPacket* const last = lane.queue.extend_if(comes_last); last != nullptr) [[likely]] {
    last->packet = std::move(packet);
    last->state = state;
    if (shared != nullptr) [[unlikely]] last->shared = std::move(shared);
  } else {
    place = lane.queue.insert_sorted(
        {std::move(packet), state, std::move(shared)},
        [](const QueuedPacket& a, const QueuedPacket& b) { return a.state.ready < b.state.ready; });
  }
  if (place == 0) note_head(lane, now);
  waiting_ |= bit(number) & served_;
  return place;
}

void OutputScheduler::push_first(QueuedPacket&& packet, ib::VirtualLane number, Instant now) {
  Lane& lane = at(number);
  add_bytes(lane, packet.state.wire_bytes);
  lane.queue.insert_sorted(std::move(packet), [](const QueuedPacket&, const QueuedPacket&) { return true; });
  note_head(lane, now);
  waiting_ |= bit(number) & served_;
}

Instant OutputScheduler::waiting_since() const {
  Instant since = kNever;
  for (std::uint32_t rest = waiting_; rest != 0; rest &= rest - 1) {
    since = std::min(since, at(ib::VirtualLane{static_cast<std::uint8_t>(std::countr_zero(rest))}).head_since);
  }
  return since;
}

void OutputScheduler::drop_started(ib::VirtualLane number, Instant now) {
  Lane& lane = at(number);
  lane.queued_bytes -= lane.queue.front().state.wire_bytes;
  lane.queue.drop_front();
  lane.expired = 0;
  note_head(lane, now);
  note_waiting(number);
}

QueuedPacket OutputScheduler::take_first(ib::VirtualLane number, Instant now) {
  Lane& lane = at(number);
  QueuedPacket first = lane.queue.pop_front();
  lane.queued_bytes -= first.state.wire_bytes;
  note_head(lane, now);
  note_waiting(number);
  return first;
}

Instant OutputScheduler::next_expiry() const {
  Instant next = kNever;
  for (std::uint32_t rest = waiting_ & ~bit(kManagementLane); rest != 0; rest &= rest - 1) {
    next = std::min(next, expiry(at(ib::VirtualLane{static_cast<std::uint8_t>(std::countr_zero(rest))})));
  }
  return next;
}

}  // namespace verbatim::fabric

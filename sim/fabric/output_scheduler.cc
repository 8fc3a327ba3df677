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
  first_lane_ = Lane();
  other_lanes_ = nullptr;
  data_lanes_ = static_cast<std::uint8_t>(lanes);
}

OutputScheduler::Lane& OutputScheduler::other(std::size_t index) {
  if (other_lanes_ == nullptr) other_lanes_ = std::make_unique<Lane[]>(data_lanes_);
  return other_lanes_[index - 1];
}

const OutputScheduler::Lane& OutputScheduler::other(std::size_t index) const {
  static const Lane kUnused;
  return other_lanes_ == nullptr ? kUnused : other_lanes_[index - 1];
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
    if (!std::as_const(*this).numbered(i).queue.empty()) waiting_ |= 1u << number & served_;
  }
}

bool OutputScheduler::push(ib::PacketPtr&& packet, ib::VirtualLane number, Instant now) {
  Lane& lane = at(number);
  add_bytes(lane, packet->sent_bytes);
  const bool is_first = lane.queue.insert(std::move(packet), [](const ib::Packet& queued) { return queued.forwarding.begin; });
  if (is_first) note_head(lane, now);
  waiting_ |= bit(number) & served_;
  return is_first;
}

void OutputScheduler::push_first(ib::PacketPtr&& packet, ib::VirtualLane number, Instant now) {
  Lane& lane = at(number);
  add_bytes(lane, packet->sent_bytes);
  const Instant ready = packet->forwarding.begin;
  lane.queue.push_front(std::move(packet), ready);
  note_head(lane, now);
  waiting_ |= bit(number) & served_;
}

Instant OutputScheduler::waiting_since() const {
  Instant since = kNever;
  for (std::uint32_t rest = waiting_; rest != 0; rest &= rest - 1) {
    since = std::min(since, at(lowest_of(rest)).head_since);
  }
  return since;
}

ib::PacketPtr OutputScheduler::start_first(ib::VirtualLane number, Instant now) {
  at(number).expired = 0;
  return take_first(number, now);
}

ib::PacketPtr OutputScheduler::take_first(ib::VirtualLane number, Instant now) {
  Lane& lane = at(number);
  ib::PacketPtr first = lane.queue.pop_front();
  lane.queued_bytes -= first->sent_bytes;
  note_head(lane, now);
  note_waiting(number);
  return first;
}

Instant OutputScheduler::next_expiry() const {
  Instant next = kNever;
  for (std::uint32_t rest = waiting_ & ~bit(kManagementLane); rest != 0; rest &= rest - 1) {
    next = std::min(next, expiry(at(lowest_of(rest))));
  }
  return next;
}

}  // namespace verbatim::fabric

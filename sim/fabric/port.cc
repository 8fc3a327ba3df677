#include "sim/fabric/port.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/ib/group_address.h"
#include "sim/ib/packet_trace.h"
#include "sim/ib/wire.h"

namespace verbatim::fabric {

Port::Port(Engine& engine, Tracer& tracer, ComponentId id, PortNumber number, const PortParams& params,
           PacketSink& owner)
    : engine_(engine),
      tracer_(tracer),
      id_(id),
      number_(number),
      params_(params),
      owner_(owner),
      operational_lanes_(params.virtual_lanes),
      served_(params.arbitration.or_default().served_lanes() | 1u << kManagementLane.value),
      sl_to_vl_(params.sl_to_vl),
      lanes_(kManagementLane.value + 1u),
      arbiter_(params.arbitration.or_default()),
      wake_(Timer::of<&Port::on_wake>(engine, id, EventClass::kTransmitDone, this)) {
  CHECK(params.virtual_lanes >= 1 && params.virtual_lanes <= 15);
  CHECK(params.input_buffer_bytes >= kLeastInputBufferBytes && params.output_queue_bytes > 0);
  CHECK(params.input_buffer_bytes <= kMostInputBufferBytes);
  set_head_lifetime(params.head_lifetime);
}

void connect(Port& a, Port& b, const LinkParams& params) {
  CHECK(&a != &b && !a.connected() && !b.connected());
  a.attach(b, params);
  b.attach(a, params);
}

void Port::attach(Port& peer, const LinkParams& params) {
  // Arrivals are events of the receiving port: its name, not the sender's, orders what comes in at one
  // instant.
  channel_ = std::make_unique<Channel>(engine_, tracer_, peer.id_, params, peer.number_, peer.owner_, peer.counters_);
  peer_ = &peer;
  up_ = true;
  operational_lanes_ = std::min(params_.virtual_lanes, peer.params_.virtual_lanes);
  flow_.emplace(params, operational_lanes_);
  for (Lane& lane : lanes_) {
    lane.capacity = peer.params_.input_buffer_bytes / kCreditBlockBytes;
    lane.credits = lane.capacity;
  }
}

void Port::send(ib::PacketPtr packet) {
  const ib::VirtualLane lane = packet->lrh.lane;
  const std::uint32_t wire_bytes = packet->wire_bytes();
  if (!up_) return drop(*packet, DropReason::kLinkDown);
  if (!carries(lane)) [[unlikely]] return drop(*packet, DropReason::kNotActive);
  enqueue(std::move(packet), {.ready = engine_.now(), .wire_bytes = wire_bytes}, nullptr, lane);
}

void Port::forward(ib::PacketPtr packet, std::uint32_t wire_bytes, Instant arrived, Instant ready, Port& buffer,
                   ib::VirtualLane buffer_lane, std::shared_ptr<Copies> copies) {
  CHECK(up_);
  const ib::VirtualLane lane = packet->lrh.lane;
  const bool has_lifetime = params_.lifetime > Duration(0) && lane != kManagementLane;
  const Instant expires = has_lifetime ? arrived + params_.lifetime : kNever;
  enqueue(std::move(packet), {ready, expires, wire_bytes, buffer_lane, false, &buffer}, std::move(copies), lane);
}

void Port::leave_buffer(const Passage& passage, Copies* copies, Instant when) {
  if (passage.buffer == nullptr) return;
  if (copies != nullptr) [[unlikely]] {
    copies->latest = std::max(copies->latest, when);
    if (--copies->left > 0) return;
    when = copies->latest;
  }
  passage.buffer->release(passage.buffer_lane, passage.wire_bytes, when);
}

void Port::enqueue(ib::PacketPtr&& packet, const Passage& passage, std::shared_ptr<Copies>&& copies,
                   ib::VirtualLane number) {
  CHECK(number.value < operational_lanes_ || number == kManagementLane);
  Lane& lane = lanes_[number.value];
  CHECK(blocks_of(passage.wire_bytes) <= lane.capacity);
  lane.queued_bytes += passage.wire_bytes;
  const bool queued_here = passage.buffer == nullptr;
  std::size_t place = lane.queue.size();
  const auto comes_last = [&passage](const Queued& before) { return before.passage.ready <= passage.ready; };
  if (Queued* const last = lane.queue.extend_if(comes_last); last != nullptr) [[likely]] {
    last->packet = std::move(packet);
    last->passage = passage;
    if (copies != nullptr) [[unlikely]] last->copies = std::move(copies);
  } else {
    place = lane.queue.insert_sorted(
        {std::move(packet), passage, std::move(copies)},
        [](const Queued& a, const Queued& b) { return a.passage.ready < b.passage.ready; });
  }
  if (place == 0) note_head(lane);
  const bool at_once = waiting_ == 0 && queued_here;
  waiting_ |= 1u << number.value & served_;
  // Starting another lane's packet here would free room without telling its listener; that is left to the
  // timer. So are a switch's packets: what comes in at one instant is arbitrated together.
  if (at_once) {
    pump();
  } else if (place == 0) {  // behind another packet of its lane it changes nothing
    set_wake();
  }
}

void Port::set_room_listener(void* owner, RoomListener listener) {
  room_owner_ = owner;
  room_listener_ = listener;
}

void Port::release(const ib::Packet& packet) { release(packet.lrh.lane, packet.wire_bytes(), engine_.now()); }

void Port::release(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant when) {
  CHECK(connected() && when >= engine_.now());
  if (lane == kManagementLane) {
    if (params_.vl15_buffer_bytes == 0) return;
    vl15_releases_.insert_sorted({when, blocks_of(wire_bytes)},
                                 [](const CreditReturn& a, const CreditReturn& b) { return a.when < b.when; });
    return;
  }
  CHECK(lane.value < operational_lanes_);
  flow_->release(lane.value, blocks_of(wire_bytes), when);
  tell_waiting_peer();
  if (waiting_ != 0) set_wake();
}

bool Port::admit_management(const ib::Packet& packet) {
  while (!vl15_releases_.empty() && vl15_releases_.front().when < engine_.now()) {
    vl15_blocks_ -= vl15_releases_.pop_front().blocks;
  }
  const std::uint32_t blocks = blocks_of(packet.wire_bytes());
  if (vl15_blocks_ + blocks > params_.vl15_buffer_bytes / kCreditBlockBytes) {
    ++counters_.vl15_dropped;
    return false;
  }
  vl15_blocks_ += blocks;
  return true;
}

void Port::advance_flow_control() {
  flow_->advance(channel_->line(), engine_.now(), [this](const FlowControl::Told& told) {
    if (told.blocks > 0) peer_->lanes_[told.lane].returning.push_back({told.arrival, told.blocks});
  });
}

void Port::take_credits(Lane& lane) {
  if (peer_ == nullptr) return;
  peer_->advance_flow_control();
  while (!lane.returning.empty() && lane.returning.front().when <= engine_.now()) {
    lane.credits += lane.returning.pop_front().blocks;
  }
  CHECK(lane.credits <= lane.capacity);
}

std::uint32_t Port::credits(ib::VirtualLane number) {
  Lane& lane = lanes_.at(number.value);
  take_credits(lane);
  return lane.credits;
}

Instant Port::eligible_at(int number) {
  const Lane& lane = lanes_[static_cast<std::size_t>(number)];
  const Passage& first = lane.queue.front().passage;
  Instant at = first.ready;
  if (first.buffer != nullptr) at = std::max(at, first.buffer->next_read());
  if (number == kManagementLane.value) return at;
  const std::uint32_t needed = blocks_of(first.wire_bytes);
  std::uint32_t credits = lane.credits;
  for (std::size_t i = 0; credits < needed; ++i) {
    if (i == lane.returning.size()) {
      credit_starved_ = true;
      const Instant told = peer_->flow_->told_at(peer_->channel_->line(), static_cast<std::size_t>(number),
                                                 needed - credits);
      return std::max(at, told);
    }
    credits += lane.returning[i].blocks;
    at = std::max(at, lane.returning[i].when);
  }
  return at;
}

bool Port::waits_for_credits(ib::VirtualLane lane) {
  if (!up_ || !has_queued(lane) || lane == kManagementLane) return false;
  take_credits(lanes_[lane.value]);
  return eligible_at(lane.value) == kNever;
}

Instant Port::next_read() {
  const Instant now = engine_.now();
  if (params_.crossbar_speedup == 0) return now;
  std::erase_if(reads_, [now](Instant end) { return end <= now; });
  if (reads_.size() < params_.crossbar_speedup) return now;
  return *std::min_element(reads_.begin(), reads_.end());
}

void Port::note_head(Lane& lane) {
  if (!lane.queue.empty()) lane.head_since = std::max(engine_.now(), lane.queue.front().passage.ready);
}

Instant Port::expires_at(const Lane& lane) const {
  if (head_lifetime_ == Duration(0)) return kNever;
  return is_stalled(lane) ? lane.head_since : lane.head_since + head_lifetime_;
}

bool Port::expire() {
  bool any = false;
  for (std::uint32_t number = 0; number < operational_lanes_; ++number) {
    Lane& lane = lanes_[number];
    while (!lane.queue.empty() && drop_at(lane) <= engine_.now()) {
      any = true;
      if (expires_at(lane) > engine_.now()) {
        drop_first(lane, DropReason::kSwitchLifetime);
        continue;
      }
      if (!is_stalled(lane) && ++lane.expired == params_.stall_count) {
        lane.stalled_until = engine_.now() + 8 * head_lifetime_;
        lane.expired = 0;
      }
      drop_first(lane, DropReason::kHeadLifetime);
    }
    if (lane.queue.empty()) waiting_ &= ~(1u << number);
  }
  return any;
}

void Port::count_wait() {
  Instant since = kNever;
  for (std::uint32_t rest = waiting_; rest != 0; rest &= rest - 1) {
    since = std::min(since, lanes_[static_cast<std::size_t>(std::countr_zero(rest))].head_since);
  }
  since = std::max({since, waited_until_, channel_->line().busy_until()});
  const Instant now = engine_.now();
  if (since >= now) return;
  counters_.xmit_wait += now - since;
  waited_until_ = now;
}

void Port::drop_first(Lane& lane, DropReason reason) {
  count_wait();
  const Queued lost = lane.queue.pop_front();
  lane.queued_bytes -= lost.passage.wire_bytes;
  drop(*lost.packet, reason);
  leave_buffer(lost.passage, lost.copies.get(), engine_.now());
  note_head(lane);
}

void Port::start(ib::VirtualLane number) {
  Lane& lane = lanes_[number.value];
  if (channel_->line().busy_until() < engine_.now()) count_wait();
  Queued& slot = lane.queue.front();
  ib::PacketPtr packet = std::move(slot.packet);
  const Passage first = slot.passage;
  std::shared_ptr<Copies> copies;
  if (slot.copies != nullptr) [[unlikely]] copies = std::move(slot.copies);
  lane.queue.drop_front();
  note_head(lane);
  lane.expired = 0;
  ++counters_.xmit_packets;
  counters_.xmit_bytes += first.wire_bytes - ib::kVcrcBytes;
  if (ib::is_to_group(*packet)) [[unlikely]] ++counters_.multicast_xmit_packets;
  if (lane.queue.empty()) waiting_ &= ~(1u << number.value);
  lane.queued_bytes -= first.wire_bytes;
  if (number != kManagementLane) {
    lane.credits -= blocks_of(first.wire_bytes);
    tracer_.tell_credits(id_, number.value, lane.credits, lane.capacity);
  }
  arbiter_.charge(first.wire_bytes);
  ib::record(tracer_, id_, TraceEvent::kPacketTransmitted, *packet, first.wire_bytes);
  if (Trail& trail = packet->trail) [[unlikely]] {
    trail.add(std::max(trail.end(), channel_->line().busy_until()), {id_, "output: line busy"});
    trail.add(engine_.now(), {id_, "output: credits or crossbar"});
  }
  PacketFate fate;
  if (faults_ != nullptr && !first.is_copy) [[unlikely]]
    fate = faults_->on_packet(*this, *packet);
  if (fate.is_duplicated) [[unlikely]]
    queue_copy(*packet, first, number);
  DepartureTimes times;
  if (fate.is_lost) [[unlikely]] {
    drop(*packet, DropReason::kFault);
    times = channel_->occupy(first.wire_bytes);
    // Flow control counts what was sent, not what came (IBA 7.9.4.4): the far end finds the space unused.
    peer_->release(number, first.wire_bytes, times.tail + link().propagation);
  } else {
    times = channel_->transmit(std::move(packet), first.wire_bytes, fate.delay);
  }
  last_period_ = channel_->line().busy_since();
  tell_waiting_peer();
  if (first.buffer != nullptr && first.buffer->params_.crossbar_speedup > 0) {
    first.buffer->reads_.push_back(times.tail);
  }
  leave_buffer(first, copies.get(), times.tail);
}

void Port::queue_copy(const ib::Packet& packet, const Passage& passage, ib::VirtualLane number) {
  Lane& lane = lanes_[number.value];
  Queued copy{std::make_unique<ib::Packet>(packet),
              {.ready = passage.ready, .wire_bytes = passage.wire_bytes, .is_copy = true},
              nullptr};
  lane.queued_bytes += passage.wire_bytes;
  lane.queue.insert_sorted(std::move(copy), [](const Queued&, const Queued&) { return true; });
  waiting_ |= 1u << number.value & served_;
}

void Port::drop(const ib::Packet& packet, DropReason reason) {
  // What a cable loses has been sent; its far end finds the ruin.
  ++(reason == DropReason::kFault ? peer_->counters_.rcv_errors : counters_.xmit_discards);
  ib::record_drop(tracer_, id_, packet, reason, id_);
}

void set_link(Port& end, bool up) {
  CHECK(end.connected());
  if (end.up_ == up) return;
  end.set_up(up);
  end.peer_->set_up(up);
}

void Port::set_up(bool up) {
  up_ = up;
  tracer_.record(id_, TraceEvent::kLinkState, up ? 1 : 0);
  if (!up) {
    count_wait();
    ++counters_.link_downed;
    lose_everything();
  }
  owner_.link_changed(number_, up);
}

void Port::lose_everything() {
  while (const ib::PacketPtr packet = channel_->take_in_flight()) {
    drop(*packet, DropReason::kLinkDown);
    if (packet->lrh.lane != kManagementLane) {
      lanes_[packet->lrh.lane.value].credits += blocks_of(packet->wire_bytes());
    }
  }
  wake_.cancel();
  waiting_ = 0;
  credit_starved_ = false;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const ib::VirtualLane number{static_cast<std::uint8_t>(i)};
    const bool was_full = !has_room(number);
    while (!lanes_[i].queue.empty()) {
      const Queued lost = lanes_[i].queue.pop_front();
      drop(*lost.packet, DropReason::kLinkDown);
      leave_buffer(lost.passage, lost.copies.get(), engine_.now());
    }
    lanes_[i].queued_bytes = 0;
    if (was_full && room_listener_ != nullptr) room_listener_(room_owner_, number);
  }
}

void Port::pump() {
  const Instant now = engine_.now();
  const LineClock& line = channel_->line();
  if (line.busy_until() <= now) {
    advance_flow_control();
    if (line.busy_until() < now || line.busy_since() > last_period_) arbiter_.pause();
    std::uint32_t eligible = 0;
    if (flow_->data_start(line, now) == now) {
      for (std::uint32_t rest = waiting_; rest != 0; rest &= rest - 1) {
        const int number = std::countr_zero(rest);
        Lane& lane = lanes_[static_cast<std::size_t>(number)];
        take_credits(lane);
        if (has_lifetime() && (is_stalled(lane) || is_too_old(lane.queue.front().passage, now))) [[unlikely]] continue;
        if (eligible_at(number) <= now) eligible |= 1u << number;
      }
    }
    if (eligible != 0) start(arbiter_.pick(eligible));
  }
  waiting_ == 0 ? stop_waking() : set_wake();
}

Instant Port::next_expiry() const {
  Instant expiry = kNever;
  for (std::uint32_t rest = waiting_ & ~(1u << kManagementLane.value); rest != 0; rest &= rest - 1) {
    expiry = std::min(expiry, drop_at(lanes_[static_cast<std::size_t>(std::countr_zero(rest))]));
  }
  return expiry;
}

void Port::set_wake() {
  if (waiting_ == 0) return stop_waking();
  const Instant now = engine_.now();
  Instant at = kNever;
  credit_starved_ = false;
  for (std::uint32_t rest = waiting_; rest != 0; rest &= rest - 1) {
    const Instant eligible = eligible_at(std::countr_zero(rest));
    if (eligible < at) at = eligible;
  }
  if (at != kNever) at = flow_->data_start(channel_->line(), at < now ? now : at);
  if (has_lifetime()) [[unlikely]] at = std::min(at, std::max(next_expiry(), now));
  if (at == kNever) {
    wake_.cancel();
    return;
  }
  if (wake_.scheduled() && wake_.when() == at) return;
  wake_.reschedule_at(at);
}

void Port::on_wake() {
  std::uint32_t full = 0;
  if (room_listener_ != nullptr) {
    for (std::uint32_t rest = waiting_; rest != 0; rest &= rest - 1) {
      const int number = std::countr_zero(rest);
      if (!has_room(ib::VirtualLane{static_cast<std::uint8_t>(number)})) full |= 1u << number;
    }
  }
  do {
    pump();
  } while (has_lifetime() && expire());
  for (; full != 0; full &= full - 1) {
    const ib::VirtualLane lane{static_cast<std::uint8_t>(std::countr_zero(full))};
    if (has_room(lane)) room_listener_(room_owner_, lane);
  }
}

}  // namespace verbatim::fabric

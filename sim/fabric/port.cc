#include "sim/fabric/port.h"

#include <algorithm>
#include <utility>

#include "sim/ib/ecn.h"
#include "sim/ib/group_address.h"
#include "sim/ib/packet_trace.h"
#include "sim/ib/telemetry.h"
#include "sim/ib/wire.h"

namespace verbatim::fabric {

namespace {

std::unique_ptr<PerPortBuffer> own_buffer(PortNumber number, const PortParams& params) {
  return std::make_unique<PerPortBuffer>(PerPortBuffer::Params{params.vl15_buffer_bytes}, number, 1);
}

}  // namespace

Port::Port(Engine& engine, Tracer& tracer, ComponentId id, PortNumber number, const PortParams& params, PacketSink& owner,
           PerPortBuffer* buffer)
    : engine_(engine),
      tracer_(tracer),
      id_(id),
      number_(number),
      output_queue_bytes_(params.output_queue_bytes),
      lifetime_(params.lifetime),
      buffer_(buffer),
      wake_(Timer::with_prefetch<&Port::on_wake, &Port::prefetch_wake>(engine, id, EventClass::kTransmitDone, this)),
      sl_to_vl_(params.sl_to_vl),
      out_({params.virtual_lanes, params.head_lifetime, params.stall_count, params.lifetime > Duration(0)}, params.arbitration,
           params.shared_arbitration),
      own_buffer_(buffer == nullptr ? own_buffer(number, params) : nullptr),
      owner_(owner),
      input_buffer_bytes_(params.input_buffer_bytes) {
  CHECK(params.input_buffer_bytes >= kLeastInputBufferBytes && params.output_queue_bytes > 0);
  if (buffer_ == nullptr) buffer_ = own_buffer_.get();
  buffer_->attach(number, *this);
}

void connect(Port& a, Port& b, const SharedLinkParams& params, CableKind kind) { connect(a, b, params, params, kind); }

void connect(Port& a, Port& b, const SharedLinkParams& of_a, const SharedLinkParams& of_b, CableKind kind) {
  CHECK(&a != &b && !a.connected() && !b.connected());
  a.attach(b, of_a);
  b.attach(a, of_b);
  CHECK(a.has_credits_ == b.has_credits_);
  a.link_->connect(*b.link_, kind);
  b.link_->connect(*a.link_, kind);
  const std::uint32_t lanes = std::min(a.out_.data_lanes(), b.out_.data_lanes());
  for (Port* const port : {&a, &b}) {
    if (port->out_.data_lanes() != lanes) port->out_.set_data_lanes(lanes);
    if (!port->has_credits_) port->buffer_->bound_lanes(port->number_, lanes, port->input_buffer_bytes_, port->link());
  }
}

LinkSide Port::side() { return {id_, number_, owner_, counters_, *this, out_.data_lanes(), input_buffer_bytes_}; }

void Port::attach(Port& peer, const SharedLinkParams& params) {
  link_.emplace(engine_, tracer_, params, side(), peer.side());
  peer_ = &peer;
  up_ = connected_ = true;
  has_credits_ = link_->flow_control().has_credits();
  CHECK(!has_credits_ || input_buffer_bytes_ <= kMostInputBufferBytes);
  has_pauses_ = link_->pauses() != nullptr;
  // kTimeout: after the packets that start at the same instant.
  if (!has_pauses_) return;
  extras().pause_timer.reset(new Timer(Timer::of<&Port::on_pause_timer>(engine_, id_, EventClass::kTimeout, this)));
}

void Port::send(ib::PacketPtr packet, Instant ready) {
  const ib::VirtualLane lane = packet->lrh.lane;
  packet->sent_bytes = packet->wire_bytes();
  packet->flow_hash = 0;
  packet->is_to_group = ib::is_to_group(*packet);
  if (!up_) return drop(*packet, DropReason::kLinkDown);
  if (!carries(lane)) [[unlikely]] return drop(*packet, DropReason::kNotActive);
  packet->forwarding = {.begin = ready, .end = kNever};
  packet->is_copy = packet->shares_claim = false;
  enqueue(std::move(packet), lane);
}

void Port::forward(ib::PacketPtr packet, ArrivalTimes times, Instant ready, const BufferClaim& claim) {
  CHECK(up_);
  const ib::VirtualLane lane = packet->lrh.lane;
  const bool has_lifetime = lifetime_ > Duration(0) && lane != kManagementLane;
  packet->forwarding = {.begin = ready,
                     .end = has_lifetime ? times.head + lifetime_ : kNever};
  packet->is_copy = false;
  set_claim(*packet, claim);
  if (extras_ != nullptr) [[unlikely]] {
    if (has_watchdog_ && is_stormed(lane)) {
      drop(*packet, DropReason::kPauseWatchdog);
      return buffer_->end_claim(claim, packet->sent_bytes, std::max(times.tail, engine_.now()));
    }
    if (extras_->marking && extras_->marking->where() == MarkingParams::Where::kEnqueue) mark(*packet, lane);
  }
  enqueue(std::move(packet), lane);
}

void Port::enqueue(ib::PacketPtr&& packet, ib::VirtualLane lane) {
  CHECK(out_.has_lane(lane));
  CHECK(!has_credits_ || blocks_of(packet->sent_bytes) <= link_->flow_control().capacity());
  queued_.enter(packet->sent_bytes);
  const bool at_once = out_.waiting() == 0 && packet->forwarding.input == 0;
  const bool is_first = out_.push(std::move(packet), lane, engine_.now());
  show_queue(lane);
  // Starting another lane's packet here would free room without notifying its listener; the timer starts
  // it. A switch's packets also wait for the timer, which arbitrates all arrivals of an instant together.
  if (at_once) {
    pump();
  } else if (is_first) {  // otherwise the packet is behind another one of its lane and changes no time
    set_wake();
  }
}

void Port::set_room_listener(void* owner, RoomListener listener) {
  room_owner_ = owner;
  room_listener_ = listener;
}

void Port::release(const ib::Packet& packet) { release(packet.lrh.lane, packet.wire_bytes(), engine_.now()); }

void Port::on_space_released(ib::VirtualLane lane, std::uint32_t wire_bytes, Instant when) {
  CHECK(connected() && when >= engine_.now());
  if constexpr (kChecksConservation) {
    if (own_buffer_ == nullptr) buffer_->bytes_of(number_).space.leave(wire_bytes);
  }
  if (lane == kManagementLane) return;
  CHECK(lane.value == 0 || lane.value < out_.data_lanes());
  if (has_pauses_) {
    if ((asked_pauses() >> lane.value & 1) != 0) schedule_pause_timer(when);
    return;
  }
  link_->on_release(lane.value, blocks_of(wire_bytes), when);
  // The flow control packet that reports the space may precede the next packet.
  if (wake_.scheduled() && link_->next_frame() < wake_.when()) set_wake();
}

bool Port::admit_counted(const ib::Packet& packet) {
  const bool is_admitted = buffer_->admit(number_, packet.lrh.lane, packet.sent_bytes, engine_.now());
  if (has_pauses_) pause_if_full(packet.lrh.lane);
  if (is_admitted) return true;
  if (packet.lrh.lane == kManagementLane) ++counters_.vl15_dropped;
  else if (counters_.priorities != nullptr) ++counters_.priorities->at(packet.lrh.lane.value).rcv_discards;
  return false;
}

void Port::mark(ib::Packet& packet, ib::VirtualLane lane) {
  if (!extras_->marking->marks(lane.value, out_.queued_bytes(lane))) return;
  const ib::Ecn ecn = ib::ecn_of(packet);
  if (ecn == ib::Ecn::kNotCapable || ecn == ib::Ecn::kCongestionExperienced) return;
  ib::mark_congestion(packet);
  ib::record(tracer_, id_, TraceEvent::kPacketMarked, packet, out_.queued_bytes(lane));
}

void Port::mark_forward(ib::Packet& packet, ib::VirtualLane lane) {
  ForwardMarking& marking = *extras_->forward_marking;
  if (lane == kManagementLane || packet.is_frame || !has_credits_ || !marking.is_congested(out_.queued_bytes(lane))) return;
  std::uint32_t behind = 0;
  out_.visit(lane, [&](const ib::Packet& queued) {
    if (queued.forwarding.begin <= engine_.now()) behind += queued.sent_bytes;
  });
  if (!marking.is_congested(behind)) return;
  const bool has_waited = engine_.now() > std::max(packet.forwarding.begin, link_->line().busy_until());
  const std::uint32_t needed = blocks_of(packet.sent_bytes) + blocks_of(out_.first(lane).sent_bytes);
  const bool is_root = !has_waited && link_->credits(lane.value) >= needed;
  if (!marking.marks(packet.sent_bytes, is_root) || packet.bth.fecn) return;
  packet.bth.fecn = true;
  marking.note(number_.value, packet, engine_.now());
  ib::record(tracer_, id_, TraceEvent::kPacketMarked, packet, behind);
}

void Port::add_telemetry(ib::Packet& packet, std::uint32_t wire_bytes) {
  if (ib::Telemetry* const telemetry = ib::telemetry_of(packet)) {
    constexpr std::uint64_t kBitsPerByteAndKilobit = 8'000'000'000;  // ps/byte to kb/s
    const ByteTime each = link().byte_time;
    std::uint64_t queued = out_.queued_bytes(kManagementLane);
    for (std::uint8_t lane = 0; lane < out_.data_lanes(); ++lane) queued += out_.queued_bytes(ib::VirtualLane{lane});
    telemetry->add(engine_.now(), extras_->telemetry_sent, queued, kBitsPerByteAndKilobit * each.denominator / each.ps_numerator);
  }
  extras_->telemetry_sent += wire_bytes;
}

std::uint32_t Port::credits(ib::VirtualLane lane) {
  if (!connected()) return 0;
  CHECK(lane.value < out_.data_lanes());
  take_grants(lane);
  return link_->credits(lane.value);
}

Instant Port::eligible_at(ib::VirtualLane lane) {
  const ib::Packet& first = out_.first(lane);
  const bool may_be_read = first.forwarding.input == 0 || !buffer_->limits_reads();
  if (lane.value == 0 && may_be_read && link_->has_credits(blocks_of(first.sent_bytes))) [[likely]]
    return first.forwarding.begin;
  return constrained_start(lane);
}

Instant Port::constrained_start(ib::VirtualLane lane) {
  const ib::Packet& first = out_.first(lane);
  Instant at = first.forwarding.begin;
  if (first.forwarding.input != 0 && buffer_->limits_reads()) [[unlikely]] {
    at = std::max(at, buffer_->next_read(PortNumber{first.forwarding.input}, engine_.now()));
  }
  if (lane == kManagementLane || (ignored_pauses_ >> lane.value & 1) != 0) return at;
  return link_->may_start(lane.value, blocks_of(first.sent_bytes), at);
}

bool Port::waits_for_credits(ib::VirtualLane lane) {
  if (!up_ || !has_queued(lane) || lane == kManagementLane) return false;
  take_grants(lane);
  return eligible_at(lane) == kNever;
}

bool Port::limits_waits(ib::VirtualLane lane) const {
  if (out_.has_lifetime()) return true;
  return has_watchdog_ && extras_->watchdog->ends_storms() && (link().lossless_lanes >> lane.value & 1) != 0;
}

bool Port::expire() {
  const bool any = out_.expire(
      engine_.now(), [this] { count_wait(); },
      [this](const ib::Packet& lost, DropReason reason) {
        lose(lost, reason);
        show_queue(lost.lrh.lane);
      });
  check_queued();
  return any;
}

void Port::count_wait() {
  link_->advance(engine_.now());
  const Instant since = std::max({out_.waiting_since(), waited_until_, link_->line().busy_until()});
  const Instant now = engine_.now();
  if (since >= now) return;
  counters_.xmit_wait += now - since;
  waited_until_ = now;
}

void Port::start(ib::VirtualLane lane) {
  if (link_->line().busy_until() < engine_.now()) count_wait();
  ib::PacketPtr packet = out_.start_first(lane, engine_.now());
  const std::uint32_t wire_bytes = packet->sent_bytes;
  show_queue(lane);
  queued_.leave(wire_bytes);
  check_queued();
  if (extras_ != nullptr) [[unlikely]] {
    if (extras_->marking && extras_->marking->where() == MarkingParams::Where::kDequeue) mark(*packet, lane);
    if (extras_->forward_marking != nullptr) mark_forward(*packet, lane);
    if (extras_->adds_telemetry) add_telemetry(*packet, wire_bytes);
  }
  ++counters_.xmit_packets;
  counters_.xmit_bytes += wire_bytes - ib::kVcrcBytes;
  if (counters_.priorities != nullptr) [[unlikely]] {
    ib::PriorityCounts& counted = counters_.priorities->at(lane.value);
    ++counted.xmit_packets;
    counted.xmit_bytes += wire_bytes;
  }
  if (packet->is_to_group) [[unlikely]] ++counters_.multicast_xmit_packets;
  if (lane != kManagementLane && has_credits_) {
    link_->on_start(lane.value, blocks_of(wire_bytes));
    tracer_.report_credits(id_, lane.value, link_->credits(lane.value), link_->flow_control().capacity());
  }
  out_.charge(wire_bytes);
  ib::record(tracer_, id_, TraceEvent::kPacketTransmitted, *packet, wire_bytes);
  if (Trail& trail = packet->trail) [[unlikely]] {
    if (has_pauses_) {
      const Instant resumed = std::min(link_->pauses()->last_resume(lane.value), engine_.now());
      trail.add(std::max(trail.end(), resumed), {id_, peer_->pause_name(), TrailKind::kWaitFor, peer_->id().value});
    }
    trail.add(std::max(trail.end(), link_->line().busy_until()), {id_, "output: line busy"});
    const bool may_wait_for_crossbar = packet->forwarding.input != 0 && buffer_->limits_reads();
    if (has_credits_ && lane != kManagementLane && !may_wait_for_crossbar) {
      trail.add(engine_.now(), {id_, "output: credits of the far end", TrailKind::kWaitFor, peer_->id().value});
    }
    trail.add(engine_.now(), {id_, "output: credits or crossbar"});
  }
  PacketFate fate;
  if (extras_ != nullptr && extras_->faults != nullptr && !packet->is_copy) [[unlikely]]
    fate = extras_->faults->on_packet(*this, *packet);
  if (fate.is_duplicated) [[unlikely]]
    queue_copy(*packet, lane);
  if (fate.is_lost) [[unlikely]]
    drop(*packet, DropReason::kFault);
  const BufferClaim claim = claim_of(*packet);
  const Instant leaves = link_->transmit(std::move(packet), engine_.now(), fate.delay, fate.is_lost);
  last_period_ = link_->line().busy_since();
  if (claim.in.value == 0) return;
  buffer_->add_read(claim.in, leaves);
  buffer_->end_claim(claim, wire_bytes, leaves);
}

void Port::queue_copy(const ib::Packet& packet, ib::VirtualLane lane) {
  queued_.enter(packet.sent_bytes);
  auto copy = std::make_unique<ib::Packet>(packet);
  copy->forwarding = {.begin = packet.forwarding.begin, .end = kNever};
  copy->is_copy = true;
  copy->shares_claim = false;
  out_.push_first(std::move(copy), lane, engine_.now());
  show_queue(lane);
}

void Port::drop(const ib::Packet& packet, DropReason reason) {
  // A loss on the cable is an error of the far end.
  if (reason != DropReason::kFault) ++counters_.xmit_discards;
  ib::record_drop(tracer_, id_, packet, reason, id_);
}

void Port::lose(const ib::Packet& lost, DropReason reason) {
  queued_.leave(lost.sent_bytes);
  drop(lost, reason);
  buffer_->end_claim(claim_of(lost), lost.sent_bytes, engine_.now());
}

void set_link(Port& end, bool up) {
  CHECK(end.connected());
  end.set_cable(up);
  end.far_end()->set_cable(up);
}

void Port::set_enabled(bool is_enabled) {
  if (set_down(DownCause::kDisabled, !is_enabled)) link_->announce(is_enabled);
}

bool Port::set_down(DownCause cause, bool is_down) {
  CHECK(connected());
  const auto bit = static_cast<std::uint8_t>(cause);
  if (((down_causes_ & bit) != 0) == is_down) return false;
  down_causes_ ^= bit;
  if (is_down) {
    if (has_watchdog_) extras_->watchdog->note_paused(0, engine_.now());
    link_->fail();
  }
  if (up_ != (down_causes_ == 0)) set_up(down_causes_ == 0);
  return true;
}

void Port::set_up(bool up) {
  up_ = up;
  tracer_.record(id_, TraceEvent::kLinkState, up ? 1 : 0);
  if (!up) {
    count_wait();
    ++counters_.link_downed;
    lose_queued();
  } else if (has_pauses_) {
    link_->pauses()->restart(engine_.now());
    schedule_pause_timer(engine_.now());
  }
  owner_.link_changed(number_, up);
}

void Port::lose_queued() {
  stop_waking();
  out_.drain(
      [this](const ib::PacketPtr& lost) { lose(*lost, DropReason::kLinkDown); },
      [this](ib::VirtualLane lane, std::uint32_t bytes) {
        if (bytes != 0) show_queue(lane);
        if (bytes >= output_queue_bytes_ && room_listener_ != nullptr) room_listener_(room_owner_, lane);
      });
  check_queued();
}

void Port::check_queued() const {
  if constexpr (!kChecksConservation) return;
  std::uint64_t bytes = out_.queued_bytes(kManagementLane);
  for (std::uint8_t lane = 0; lane < out_.data_lanes(); ++lane) bytes += out_.queued_bytes(ib::VirtualLane{lane});
  queued_.expect(bytes);
}

void Port::pump() {
  const Instant now = engine_.now();
  const LineClock& line = link_->line();
  if (line.busy_until() <= now) {
    link_->advance(engine_.now());
    if (line.busy_until() < now || line.busy_since() > last_period_) out_.pause();
    std::uint32_t eligible = 0;
    if (!is_behind_pause_frame(now) && link_->data_start(now) == now) {
      for (std::uint32_t rest = out_.waiting(); rest != 0; rest &= rest - 1) {
        const ib::VirtualLane lane = lowest_of(rest);
        if (lane != kManagementLane) take_grants(lane);
        if (out_.has_lifetime() && out_.is_blocked(lane, now)) [[unlikely]] continue;
        if (eligible_at(lane) <= now) eligible |= 1u << lane.value;
      }
    }
    if (eligible != 0) start(out_.pick(eligible));
  }
  set_wake();
}

void Port::stop_waking() {
  link_->stop_awaiting_grants();
  wake_.cancel();
}

void Port::set_wake() {
  if (out_.waiting() == 0) return stop_waking();
  const Instant now = engine_.now();
  Instant at = kNever;
  link_->stop_awaiting_grants();
  for (std::uint32_t rest = out_.waiting(); rest != 0; rest &= rest - 1) at = std::min(at, eligible_at(lowest_of(rest)));
  if (at != kNever) at = link_->data_start(at < now ? now : at);
  if (is_behind_pause_frame(at)) [[unlikely]] at = kNever;  // the pause timer wakes the port again
  if (out_.has_lifetime()) [[unlikely]] at = std::min(at, std::max(out_.next_expiry(), now));
  if (has_watchdog_) [[unlikely]] {
    note_pauses();
    // A pause frame may take effect after the wake-up of a packet that then turns out to be paused.
    at = std::min({at, std::max(next_storm(), now), link_->pauses()->next_effect()});
  }
  if (at == kNever) {
    wake_.cancel();
    return;
  }
  if (wake_.scheduled() && wake_.when() == at) return;
  wake_.reschedule_at(at);
}

void Port::prefetch_wake(int step) {
  if (step == 0) return prefetch_lines(this, 0, kDepartureLines);
  if (out_.has_other_lanes() || extras_ != nullptr) {  // the first packet's address takes one more step
    if (step == 1) return prefetch_lanes(out_.waiting());
    --step;
  }
  const ib::Packet* const first = out_.first_waiting();
  if (first == nullptr || !connected()) return;
  if (step == 1) {
    if (room_listener_ != nullptr) prefetch_lines(&owner_, 0, 8);
    prefetch_lines(first, 0, 1);
    if (counters_.priorities != nullptr) prefetch_lines(&counters_.priorities->at(first->lrh.lane.value % kPriorities), 0, 1);
    return link_->prefetch_far_end();
  }
  if (room_listener_ != nullptr) owner_.prefetch_room(first->lrh.lane, step - 2);
  if (step == 2) {
    if (first->next != nullptr) prefetch_lines(first->next, 0, 1);
    link_->prefetch_flow_control();
  }
  if (first->forwarding.input == 0) return;
  if (step == 2) return buffer_->prefetch_input(PortNumber{first->forwarding.input});
  if (step == 3) buffer_->prefetch_release(PortNumber{first->forwarding.input}, ib::VirtualLane{first->forwarding.input_lane});
  // The ports of a switch share its buffer.
  const Port& input = static_cast<const Port&>(buffer_->input(PortNumber{first->forwarding.input}));
  if (step == 3) {
    prefetch_lines(&input, 0, 2);
    return prefetch_lines(&input, kLinkLine, kDepartureLines - kLinkLine);
  }
  if (!input.connected()) return;
  if (step == 4) {
    if (const ib::Packet* const next = first->next; next != nullptr && next->forwarding.input != 0)
      buffer_->prefetch_input(PortNumber{next->forwarding.input});
    return input.link_->prefetch_far_waiting();
  }
  if (!input.link_->is_far_waiting()) return;
  // The far end will set its timer.
  if (step == 5) return prefetch_lines(input.peer_, 0, kDepartureLines);
  if (const ib::Packet* const waiting = input.peer_->out_.first_waiting(); waiting != nullptr) prefetch_lines(waiting, 0, 1);
}

void Port::on_wake() {
  std::uint32_t full = 0;
  if (room_listener_ != nullptr) {
    for (std::uint32_t rest = out_.waiting(); rest != 0; rest &= rest - 1) {
      const ib::VirtualLane lane = lowest_of(rest);
      if (!has_room(lane)) full |= 1u << lane.value;
    }
  }
  do {
    pump();
  } while (out_.has_lifetime() && expire());
  if (has_watchdog_ && begin_storms()) [[unlikely]] pump();
  for (; full != 0; full &= full - 1) {
    const ib::VirtualLane lane = lowest_of(full);
    if (has_room(lane)) room_listener_(room_owner_, lane);
  }
}

}  // namespace verbatim::fabric

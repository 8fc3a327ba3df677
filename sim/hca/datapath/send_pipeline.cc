#include "sim/hca/datapath/send_pipeline.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/hca/adapter_base.h"
#include "sim/hca/datapath/frame_steering.h"
#include "sim/hca/datapath/general_services.h"
#include "sim/hca/datapath/payload_memory.h"
#include "sim/hca/datapath/payload_writer.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/datapath/receive_pipeline.h"
#include "sim/hca/freedom.h"
#include "sim/hca/multicast.h"
#include "sim/hca/stages/memory_caches.h"
#include "sim/ib/aeth.h"
#include "sim/ib/frame.h"
#include "sim/ib/group_address.h"
#include "sim/ib/packet_trace.h"

namespace verbatim::hca {

SendPipeline::SendPipeline(AdapterBase& adapter, host::DmaEngine& dma, MemoryCaches& caches, PayloadWriter& payloads,
                           ReceivePipeline& receiver, FrameSteering& steering, const MulticastTable& multicast)
    : adapter_(adapter),
      dma_(dma),
      caches_(caches),
      payloads_(payloads),
      receiver_(receiver),
      steering_(steering),
      multicast_(multicast),
      looks_up_(caches.is_limited()),
      packetize_(adapter.clock, adapter.profile.packetize),
      acknowledge_(adapter.clock, adapter.profile.acknowledge),
      icrc_{{adapter.clock, adapter.profile.icrc}},
      acknowledgement_icrc_{{adapter.clock, adapter.profile.icrc}},
      packetized_(DelayLine<Outgoing>::of<&SendPipeline::on_packetized>(adapter.engine, adapter.id,
                                                                        EventClass::kStage, this)),
      acknowledged_(DelayLine<Acknowledgement>::of<&SendPipeline::on_acknowledged>(adapter.engine, adapter.id,
                                                                                   EventClass::kStage, this)),
      datagrams_(DelayLine<ib::PacketPtr>::of<&SendPipeline::on_datagram>(adapter.engine, adapter.id,
                                                                          EventClass::kStage, this)),
      paced_(PacingCalendar<Ref<QueuePair>>::of<&SendPipeline::on_paced>(adapter.engine, adapter.id, this)),
      pause_timer_(
          Timer::of<&SendPipeline::on_pause_over>(adapter.engine, adapter.id, EventClass::kStage, this)) {}

void SendPipeline::attach(fabric::Port& port) {
  CHECK(port_ == nullptr);
  port_ = &port;
  port.set_room_listener(this, &SendPipeline::on_room);
}

void SendPipeline::activate(QueuePair& qp) {
  if (qp.turn.is_scheduled || !qp.has_packet()) return;
  qp.turn.is_scheduled = true;
  enlist(qp);
  pump();
}

std::uint32_t SendPipeline::lane_of_next(const QueuePair& qp) const {
  return port_->lane_of(qp.next_service_level()).value;
}

void SendPipeline::enlist(QueuePair& qp) {
  CHECK(port_ != nullptr);
  const std::uint32_t lane = lane_of_next(qp);
  lanes_[lane].active.push_back({qp.self, turns_ever_++});
  active_lanes_ |= 1u << lane;
  ++turns_;
}

SendPipeline::Turn SendPipeline::take_turn(Lane& lane) {
  Turn turn = lane.active.pop_front();
  if (lane.active.empty()) active_lanes_ &= ~(1u << (&lane - lanes_.data()));
  --turns_;
  return turn;
}

void SendPipeline::end_turn(Lane& lane, QueuePair& qp, bool has_another) {
  if (has_another && lane.active.size() == 1 && !qp.is_datagram()) [[likely]] {
    lane.active.front().number = turns_ever_++;  // the only queue pair of the lane keeps its place
    return;
  }
  take_turn(lane);
  if (has_another) {
    enlist(qp);
  } else {
    qp.turn.is_scheduled = false;
  }
}

SendPipeline::Lane* SendPipeline::first_lane(std::uint32_t excluded) {
  std::uint32_t rest = active_lanes_ & ~excluded;
  if (rest == 0) return nullptr;
  Lane* first = &lanes_[std::countr_zero(rest)];
  for (rest &= rest - 1; rest != 0; rest &= rest - 1) {
    Lane& lane = lanes_[std::countr_zero(rest)];
    if (lane.active.front().number < first->active.front().number) first = &lane;
  }
  return first;
}

void SendPipeline::pump() {
  if (pumping_) return;  // a packet that could not be made may have activated another queue pair
  if (pause_timer_.scheduled()) return;
  pumping_ = true;
  std::uint32_t full = 0;             // lanes without room in their gather buffer
  const QueuePair* ready = nullptr;   // the last queue pair, if it has another packet
  while (Lane* lane = first_lane(full)) {
    const auto number = static_cast<std::uint32_t>(lane - lanes_.data());
    QueuePair* qp = lane->active.front().qp.get();
    if (qp == nullptr || (qp != ready && !qp->has_packet())) {
      if (qp != nullptr) qp->turn.is_scheduled = false;
      take_turn(*lane);
      continue;
    }
    if (qp != ready && lane_of_next(*qp) != number) [[unlikely]] {  // its path has been modified
      take_turn(*lane);
      enlist(*qp);
      continue;
    }
    if (qp->pacer != nullptr && qp->is_put_off()) [[unlikely]] {
      put_off(*lane, *qp);
      continue;
    }
    if (!was_paused_) {
      const Duration pause = freedom::kGatherDelay.choose(adapter_.choices, adapter_.id);
      if (pause > Duration::zero()) {
        pause_timer_.schedule_after(pause);
        break;
      }
    }
    const std::uint32_t room = buffer_bytes(qp->next_packet_bytes());
    was_paused_ = lane->buffered > 0 && lane->buffered + room > adapter_.profile.gather_buffer_bytes;
    if (was_paused_) {
      full |= 1u << number;
      continue;
    }
    Outgoing outgoing = qp->next_packet();
    ready = qp->has_packet() ? qp : nullptr;
    end_turn(*lane, *qp, ready != nullptr);
    outgoing.packet->lrh.lane = ib::VirtualLane{static_cast<std::uint8_t>(number)};
    lane->buffered += buffer_bytes(outgoing.packet->payload.length);
    issue(std::move(outgoing));
  }
  pumping_ = false;
}

void SendPipeline::put_off(Lane& lane, QueuePair& qp) {
  take_turn(lane);
  const Instant again = qp.pacer->next_check(adapter_.engine.now());
  if (again == kNever) {  // its window is full: an acknowledgement activates it
    qp.turn.is_scheduled = false;
    return;
  }
  paced_.add(again, qp.self);
}

void SendPipeline::on_paced() {
  paced_.take_due(adapter_.engine.now(), [this](Ref<QueuePair>&& ref) {
    QueuePair* const qp = ref.get();
    if (qp == nullptr) return;
    if (qp->has_packet()) return enlist(*qp);
    qp->turn.is_scheduled = false;
    qp->limited_since = kNever;
  });
  pump();
}

std::optional<ByteTime> SendPipeline::line() const {
  if (port_ == nullptr || !port_->connected()) return std::nullopt;
  return port_->link().byte_time;
}

void SendPipeline::on_pause_over() {
  was_paused_ = true;
  // Queue pairs that were activated during the delay may be first.
  for (auto turns = adapter_.choices.choose(freedom::kSendTurn, adapter_.id, turns_); turns > 0; --turns) {
    Lane* lane = first_lane(0);
    Turn turn = take_turn(*lane);
    turn.number = turns_ever_++;
    lane->active.push_back(std::move(turn));
    active_lanes_ |= 1u << (lane - lanes_.data());
    ++turns_;
  }
  pump();
}

void SendPipeline::issue(Outgoing&& outgoing) {
  const std::uint64_t number = first_gathering_ + gathering_.size();
  Gathered& gathered = gathering_.extend();
  gathered.begin(std::move(outgoing), adapter_.engine.now());
  if (gathered.complete) return advance();
  visit_gather(*gathered.outgoing.qp.get(), gathered.outgoing, [&gathered](const GatherPiece& piece) {
    if (gathered.piece.length == 0) {
      gathered.piece = piece;
      return;
    }
    if (gathered.several.empty()) gathered.several.push_back(gathered.piece);
    gathered.several.push_back(piece);
  });
  looks_up_ ? look_up(number) : read(number);
}

void SendPipeline::look_up(std::uint64_t number) {
  Gathered& gathered = gathering_[number - first_gathering_];
  gathered.missing = caches_.missing_protections(gathered.pieces(), *this, number);
  gathered.lacks_protection = gathered.missing > 0;
  if (!gathered.lacks_protection) translate(number);
}

void SendPipeline::translate(std::uint64_t number) {
  Gathered& gathered = gathering_[number - first_gathering_];
  if (needs_bytes(gathered.outgoing)) gathered.missing = caches_.missing_translations(gathered.pieces(), *this, number);
  if (gathered.missing == 0) read(number);
}

void SendPipeline::read(std::uint64_t number) {
  Gathered& gathered = gathering_[number - first_gathering_];
  release_writes_before(gathered);
  Trail trail = gathered.outgoing.packet->trail.shared();
  if (gathered.several.empty() && gathered.piece.length > 0 && !is_on_adapter(gathered.piece.address)) [[likely]] {
    if (!read_length(number, trail)) {
      dma_.read(host::DmaPiece(gathered.piece.length, gathered.piece.address), *this, number, std::move(trail));
    }
    return;
  }
  reading_.clear();
  for (const GatherPiece& piece : gathered.pieces()) {
    if (!is_on_adapter(piece.address)) reading_.emplace_back(piece.length, piece.address);
  }
  if (reading_.empty()) return on_dma_read(number, adapter_.engine.now());
  if (reading_.size() == 1 && read_length(number, trail)) return;
  dma_.read(reading_, *this, number, std::move(trail));
}

// The times of the read are known when it is issued; the packet enters the packetize stage in its turn.
bool SendPipeline::read_length(std::uint64_t number, Trail& trail) {
  Gathered& gathered = gathering_[number - first_gathering_];
  const QueuePair* const qp = gathered.outgoing.qp.get();
  if (qp == nullptr || qp->source == nullptr || !is_current(gathered.outgoing)) return false;
  const auto times = dma_.read_length(host::DmaPiece(gathered.piece.length, gathered.piece.address), trail);
  if (!times) return false;
  const ib::Packet& packet = *gathered.outgoing.packet;
  adapter_.tracer.record_at(times->touch, adapter_.id, TraceEvent::kPayloadGathered, qp->number, packet.bth.psn.value,
                            packet.payload.length, 0);
  gathered.complete = true;
  gathered.at_adapter = times->at_adapter;
  advance();
  return true;
}

// No read passes a write of the same bytes. An answer of a queue pair follows the writes of its earlier
// requests.
void SendPipeline::release_writes_before(const Gathered& gathered) {
  const Outgoing& outgoing = gathered.outgoing;
  if (!payloads_.holds_any() || !is_current(outgoing)) [[likely]] return;
  const ib::Opcode opcode = outgoing.packet->bth.opcode;
  const bool may_be_early = (adapter_.profile.quirks & bit_of(Quirk::kEarlyAcknowledgement)) != 0 &&
                            operation_of(opcode) == ib::Operation::kAcknowledge;  // its writes are released when it leaves
  if (!ib::info(opcode).is_request && !may_be_early) {
    payloads_.release_stream(message_stream(outgoing.qp.get()->number, false));
  }
  if (!needs_bytes(outgoing)) return;
  for (const GatherPiece& piece : gathered.pieces()) payloads_.release_bytes(piece.address, piece.length);
}

bool SendPipeline::needs_bytes(const Outgoing& outgoing) const {
  return is_current(outgoing) && hca::needs_bytes(*outgoing.qp.get(), outgoing);
}

void SendPipeline::on_cached(std::uint64_t number) {
  Gathered& gathered = gathering_[number - first_gathering_];
  if (--gathered.missing > 0) return;
  const bool is_protection = std::exchange(gathered.lacks_protection, false);
  gathered.outgoing.packet->trail.add(adapter_.engine.now(),
                                      {adapter_.id, is_protection ? kProtectionMiss : kTranslationMiss});
  is_protection ? translate(number) : read(number);
}

host::Touch SendPipeline::touch_of(std::uint64_t cookie, std::vector<host::TouchedBytes>& bytes) const {
  const Gathered& gathered = gathering_[cookie - first_gathering_];
  const Outgoing& outgoing = gathered.outgoing;
  if (!is_current(outgoing) || outgoing.qp.get()->source != nullptr) return host::Touch::kUnseen;
  return show_gather(*outgoing.qp.get(), outgoing, gathered.pieces(), bytes) ? host::Touch::kRead : host::Touch::kUnknown;
}

void SendPipeline::on_dma_read(std::uint64_t cookie, Instant at_adapter) {
  Gathered& gathered = gathering_[cookie - first_gathering_];
  gathered.complete = true;
  gathered.at_adapter = at_adapter;
  if (is_current(gathered.outgoing)) {
    QueuePair& qp = *gathered.outgoing.qp.get();
    ib::Packet& packet = *gathered.outgoing.packet;
    if (qp.source == nullptr) {
      packet.payload.buffer = ib::PayloadBuffer::allocate(packet.payload.length);
      gather(qp, gathered.outgoing, gathered.pieces(), packet.payload.buffer.fill());
    }
    adapter_.tracer.record(adapter_.id, TraceEvent::kPayloadGathered, qp.number, packet.bth.psn.value,
                           packet.payload.length);
  }
  advance();
}

void SendPipeline::advance() {
  while (!gathering_.empty() && gathering_.front().complete) {
    Gathered& gathered = gathering_.front();
    // The payload of a packet that is not sent has not been gathered.
    ib::Packet& packet = *gathered.outgoing.packet;
    if (packet.is_frame && packet.payload.buffer) [[unlikely]] ib::address_frame(packet);
    Trail& trail = gathered.outgoing.packet->trail;
    Instant done = packetize_.accept(gathered.at_adapter, trail, adapter_.id, "packetize",
                                     bus_cycles(*gathered.outgoing.packet));
    if (icrc_.stage.takes_time()) [[unlikely]] done = add_icrc(icrc_, done, *gathered.outgoing.packet);
    packetized_.push(done, std::move(gathered.outgoing));
    gathering_.drop_front();
    ++first_gathering_;
  }
}

Instant SendPipeline::add_icrc(IcrcStage& icrc, Instant ready, ib::Packet& packet) {
  if (is_own(packet)) {
    icrc.left = std::max(icrc.left, ready);
    packet.trail.add(icrc.left, {adapter_.id, kIcrc, TrailKind::kBusy});
  } else {
    icrc.left = icrc.stage.accept(ready, packet.trail, adapter_.id, kIcrc);
  }
  return icrc.left;
}

std::uint32_t SendPipeline::bus_cycles(const ib::Packet& packet) const {
  const std::uint32_t width = adapter_.profile.packet_bus_bytes;
  return width == 0 ? 0 : (packet.wire_bytes() + width - 1) / width;
}

bool SendPipeline::is_current(const Outgoing& outgoing) const {
  const QueuePair* qp = outgoing.qp.get();
  return qp != nullptr && qp->is_current(outgoing);
}

bool SendPipeline::is_own(const ib::Packet& packet) const {
  return adapter_.address.is_destination_of(packet);
}

bool SendPipeline::has_room(const ib::Packet& packet) const {
  return is_own(packet) || port_->has_room(packet.lrh.lane);
}

void SendPipeline::on_packetized(Outgoing&& outgoing) {
  Ring<Outgoing>& waiting = lanes_[outgoing.packet->lrh.lane.value].waiting;
  if (!waiting.empty() || !has_room(*outgoing.packet)) {
    waiting.push_back(std::move(outgoing));
    return;
  }
  transmit(std::move(outgoing));
  pump();
}

void SendPipeline::acknowledge(ib::PacketPtr packet, const Ref<QueuePair>& qp) {
  const Duration delay = freedom::kAckDelay.choose(adapter_.choices, adapter_.id);
  Instant decided = adapter_.engine.now() + delay;
  // Otherwise no later WRITE could overtake: what is acknowledged is visible.
  if (payloads_.holds_any()) [[unlikely]]
    decided = std::max(decided, payloads_.overtakable_until(message_stream(qp.get()->number, false)));
  packet->trail.add(decided, {adapter_.id, "acknowledgement held back"});
  ++qp.get()->turn.acknowledgements_staged;
  stage({std::move(packet), qp}, decided);
}

void SendPipeline::notify(ib::PacketPtr packet, const Ref<QueuePair>& qp) {
  stage({std::move(packet), qp}, adapter_.engine.now());
}

void SendPipeline::stage(Acknowledgement&& acknowledgement, Instant decided) {
  ib::Packet& packet = *acknowledgement.packet;
  Instant done = acknowledge_.accept(decided, packet.trail, adapter_.id, "acknowledge");
  if (acknowledgement_icrc_.stage.takes_time()) [[unlikely]] done = add_icrc(acknowledgement_icrc_, done, packet);
  acknowledged_.push(done, std::move(acknowledgement));
}

void SendPipeline::release_acknowledged_writes(const QueuePair& qp) {
  if (!payloads_.holds_any() || adapter_.quirk_fires(Quirk::kEarlyAcknowledgement, freedom::kEarlyAcknowledgement)) return;
  payloads_.release_stream(message_stream(qp.number, false));
}

void SendPipeline::on_acknowledged(Acknowledgement&& acknowledgement) {
  CHECK(port_ != nullptr);
  QueuePair* qp = acknowledgement.qp.get();
  if (qp == nullptr) return;
  if (!acknowledgement.is_notification()) [[likely]] {
    --qp->turn.acknowledgements_staged;
    if (is_left_out(acknowledgement)) {
      if (acknowledgement.packet->bth.becn) qp->owe_backward_mark();
      return;
    }
    qp->put_backward_mark(*acknowledgement.packet);
    release_acknowledged_writes(*qp);
  }
  acknowledgement.packet->lrh.lane = port_->lane_of(acknowledgement.packet->lrh.service_level);
  Ring<Acknowledgement>& waiting = lanes_[acknowledgement.packet->lrh.lane.value].waiting_acknowledgements;
  if (!waiting.empty() || !has_room(*acknowledgement.packet)) {
    waiting.push_back(std::move(acknowledgement));
    return;
  }
  transmit(std::move(acknowledgement));
}

void SendPipeline::send_datagram(ib::PacketPtr packet, Instant at_adapter) {
  Instant done = packetize_.accept(at_adapter, packet->trail, adapter_.id, "packetize", bus_cycles(*packet));
  if (icrc_.stage.takes_time()) [[unlikely]] done = add_icrc(icrc_, done, *packet);
  datagrams_.push(done, std::move(packet));
}

void SendPipeline::on_datagram(ib::PacketPtr&& packet) {
  CHECK(port_ != nullptr);
  if (!GeneralServices::is_subnet_management(*packet)) packet->lrh.lane = port_->lane_of(packet->lrh.service_level);
  Ring<ib::PacketPtr>& waiting = lanes_[packet->lrh.lane.value].waiting_datagrams;
  if (!waiting.empty() || !has_room(*packet)) {
    waiting.push_back(std::move(packet));
    return;
  }
  hand_over(std::move(packet));
}

bool SendPipeline::is_left_out(const Acknowledgement& acknowledgement) {
  // IBA 9.7.5.1.2, 9.7.5.2.8: the next answer of any kind acknowledges all requests before it. It is in the
  // stage already: the requester's last request is never left without an answer.
  if (acknowledgement.qp.get()->turn.acknowledgements_staged == 0) return false;
  if (ib::ack_kind(acknowledgement.packet->aeth.syndrome) != ib::AckKind::kAck) return false;
  return adapter_.profile.coalesce_acknowledgements ||
         adapter_.choices.choose(freedom::kAckCoalescing, adapter_.id, 2) != 0;
}

void SendPipeline::on_room(void* self, ib::VirtualLane lane) {
  auto& pipeline = *static_cast<SendPipeline*>(self);
  pipeline.drain(pipeline.lanes_[lane.value]);
}

void SendPipeline::drain(Lane& lane) {
  while (!lane.waiting_acknowledgements.empty() && has_room(*lane.waiting_acknowledgements.front().packet)) {
    transmit(lane.waiting_acknowledgements.pop_front());
  }
  while (!lane.waiting_datagrams.empty() && has_room(*lane.waiting_datagrams.front())) {
    hand_over(lane.waiting_datagrams.pop_front());
  }
  while (!lane.waiting.empty() && has_room(*lane.waiting.front().packet)) transmit(lane.waiting.pop_front());
  pump();
}

TrailPart SendPipeline::waits_for_port() const { return {adapter_.id, "output: queue of the port is full"}; }

void SendPipeline::transmit(Outgoing&& outgoing) {
  lanes_[outgoing.packet->lrh.lane.value].buffered -= buffer_bytes(outgoing.packet->payload.length);
  if (!is_current(outgoing)) return;
  outgoing.packet->trail.add(adapter_.engine.now(), waits_for_port());
  QueuePair& qp = *outgoing.qp.get();
  qp.on_transmit(outgoing);
  const ib::Packet& packet = *outgoing.packet;
  const bool acknowledges = operation_of(packet.bth.opcode) == ib::Operation::kAcknowledge;
  if (acknowledges) release_acknowledged_writes(qp);
  if (!acknowledges && !ib::info(packet.bth.opcode).is_request)
    payloads_.release_stream(message_stream(qp.number, false));
  if (acknowledges) record_acknowledgement(qp, packet);
  hand_over(std::move(outgoing.packet));
}

void SendPipeline::transmit(Acknowledgement&& acknowledgement) {
  QueuePair* qp = acknowledgement.qp.get();
  if (qp == nullptr) return;
  const ib::Packet& packet = *acknowledgement.packet;
  acknowledgement.packet->trail.add(adapter_.engine.now(), waits_for_port());
  if (!acknowledgement.is_notification()) [[likely]] record_acknowledgement(*qp, packet);
  hand_over(std::move(acknowledgement.packet));
}

void SendPipeline::record_acknowledgement(const QueuePair& qp, const ib::Packet& packet) {
  adapter_.tracer.record(adapter_.id, TraceEvent::kAckSent, qp.number, packet.bth.psn.value,
                         packet.aeth.syndrome, packet.aeth.msn);
}

void SendPipeline::hand_over(ib::PacketPtr packet) {
  if (packet->is_frame && steering_.wants_copy(*packet)) {
    receiver_.loop_back(std::make_unique<ib::Packet>(*packet));
  }
  // IBA 10.5.2: members on the sender's own adapter get a copy; the fabric does not return the datagram.
  if (ib::is_to_group(*packet) && !multicast_.members(*packet).empty()) {
    receiver_.loop_back(std::make_unique<ib::Packet>(*packet));
  }
  if (is_own(*packet)) {
    receiver_.loop_back(std::move(packet));
  } else if (packet->lrh.lane == fabric::kManagementLane && !GeneralServices::is_subnet_management(*packet)) {
    ib::record_drop(adapter_.tracer, adapter_.id, *packet, DropReason::kNoLane, port_->id());
  } else {
    if (steering_.flows.has_sniffers()) [[unlikely]] steering_.sniff(*packet);
    port_->send(std::move(packet));
  }
}

}  // namespace verbatim::hca

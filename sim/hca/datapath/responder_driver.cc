#include "sim/hca/datapath/responder_driver.h"

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/hca/datapath/adapter.h"
#include "sim/hca/datapath/late_receive.h"
#include "sim/hca/datapath/payload_memory.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/datapath/receive_check.h"
#include "sim/hca/datapath/received_frame.h"
#include "sim/hca/datapath/shared_receive_queue.h"
#include "sim/ib/wire.h"

namespace verbatim::hca {

namespace {

// The bytes that a datagram writes: its GRH, when it has one, and its payload (IBA 11.4.1.2).
ib::Payload with_grh(const ib::Packet& packet) {
  if (!packet.grh) return packet.payload;
  const std::span<const std::byte> data = packet.payload.bytes();
  ib::PayloadBuffer buffer = ib::PayloadBuffer::allocate(ib::kGrhBytes + packet.payload.length);
  const std::span<std::byte> to = buffer.fill();
  ib::write_grh(packet, to.first<ib::kGrhBytes>());
  if (!data.empty()) std::memcpy(&to[ib::kGrhBytes], data.data(), data.size());
  return {buffer, 0, buffer.size()};
}

ib::Payload behind(const ib::Payload& payload, std::uint32_t skipped) {
  return {payload.buffer, payload.offset + skipped, payload.length - skipped};
}

}  // namespace

Instant ResponderDriver::now() const { return qp_.adapter.engine.now(); }

void ResponderDriver::start(ib::Psn expected) {
  qp_.responder.start(expected);
  started_ = now();
  // Receives may have been posted to a shared queue before any queue pair could take them.
  qp_.receives().refill();
}

void ResponderDriver::flush() {
  drop_held();
  if (std::optional<RecvWork> current = qp_.responder.abandon()) flush_receive(std::move(*current));
  qp_.request_rq_doorbell(true);
  qp_.own_receives.flush();
}

void ResponderDriver::flush_receive(RecvWork&& work) {
  qp_.executor.complete_receive(
      {work.wr_id, work.number, ib::WcStatus::kWorkRequestFlushed, false, false, 0, std::move(work.match)}, nullptr,
      Trail());
}

void ResponderDriver::receive(Incoming&& incoming) {
  if (!held_.empty()) return held_.hold_behind(std::move(incoming));
  process(std::move(incoming), Resolved::kNothing);
  process_kept();
}

void ResponderDriver::process_kept() {
  while (!kept_.empty() && held_.empty()) [[unlikely]] {
    std::optional<Incoming> next = kept_.take(qp_.responder.expected());
    if (!next) return;
    next->packet->trail.add(now(), {qp_.adapter.id, kMissingPackets});
    process(std::move(*next), Resolved::kNothing);
  }
}

void ResponderDriver::process(Incoming&& incoming, Resolved resolved) {
  Responder& responder = qp_.responder;
  Actions actions;
  Responder::Verdict verdict = responder.receive(*incoming.packet, now(), actions);
  if (verdict.need == Responder::Need::kReceive) verdict = supply(incoming, resolved, actions);
  const Responder::Need need = verdict.need;
  qp_.executor.execute(actions, &incoming);
  const std::uint64_t lookup = need == Responder::Need::kPlacement ? place(incoming, verdict.placement, resolved) : 0;
  if (lookup != 0) [[unlikely]] {
    held_.hold(std::move(incoming), HeldPackets::Wait::kLookUp, lookup);
  } else if (need == Responder::Need::kReceive) {
    held_.hold(std::move(incoming), HeldPackets::Wait::kReceive);
  } else if (need == Responder::Need::kAtomics) {
    held_.hold(std::move(incoming), HeldPackets::Wait::kAtomics);
  } else {
    incoming.release(now());
    if (need == Responder::Need::kOthers) [[unlikely]] kept_.keep(incoming.packet->bth.psn, std::move(incoming));
  }
}

Responder::Verdict ResponderDriver::supply(const Incoming& incoming, Resolved resolved, Actions& actions) {
  Responder& responder = qp_.responder;
  ReceiveQueue& receives = qp_.receives();
  const ib::Packet& packet = *incoming.packet;
  if (qp_.source != nullptr) return responder.on_receive(qp_.source->take_receive(), packet, actions);
  if (receives.has_failed()) {
    responder.on_failed_queue(packet, actions);
    return {};
  }
  TagMatching* const tags = qp_.tags_of(packet);
  if (tags != nullptr) [[unlikely]] {
    const bool can_read = qp_.attributes.max_rd_atomic > 0;
    if (auto work = tags->list.take(packet.payload.bytes(), ib::info(packet.bth.opcode).ends_message, can_read)) {
      tags->publish();
      return responder.on_receive(std::move(*work), packet, actions);
    }
  }
  if (std::optional<RecvWork> work = receives.take()) {
    if (tags != nullptr) [[unlikely]] {
      work->match = std::make_unique<TagMatch>(tags->list.take_unmatched(packet.payload.bytes()));
    }
    if (work->number == 0) [[unlikely]] note_late_receive(qp_, *work, packet);
    qp_.adapter.diagnoses.on_receive(qp_, *work);
    if (delays_drop_) [[unlikely]] qp_.request_rq_doorbell(delays_drop_ = false);
    return responder.on_receive(std::move(*work), packet, actions);
  }
  if (resolved != Resolved::kReceive && receives.entries() > 0) {
    receives.await(qp_.self, incoming.checked_at);
    return {Responder::Need::kReceive, {}};
  }
  if ((qp_.frame_options & kDelayDrop) != 0 && delays_drop(incoming)) return {Responder::Need::kReceive, {}};
  qp_.adapter.diagnoses.on_no_receive(qp_, packet);
  responder.on_no_receive(packet, actions);
  return {};
}

bool ResponderDriver::delays_drop(const Incoming& incoming) {
  const Instant deadline = incoming.checked_at + qp_.adapter.profile.delay_drop_timeout;
  if (now() >= deadline) {
    qp_.request_rq_doorbell(delays_drop_ = false);
    return false;
  }
  if (!delays_drop_) {
    // The record is read again for receives posted between its last read and the time at which the program
    // sees the wish.
    delays_drop_ = true;
    qp_.receives().await(qp_.self, qp_.request_rq_doorbell(true));
    qp_.adapter.steering.drop_later(qp_.self, deadline);
  }
  return true;
}

void ResponderDriver::on_posted() {
  if (delays_drop_ && held_.wait() == HeldPackets::Wait::kReceive) qp_.receives().await(qp_.self, now());
}

void ResponderDriver::on_receives() {
  Actions actions;
  qp_.responder.on_receives(actions);
  qp_.executor.execute(actions);
}

void ResponderDriver::on_delay_over() {
  if (delays_drop_ && held_.wait() == HeldPackets::Wait::kReceive) resume(Resolved::kReceive);
}

std::uint64_t ResponderDriver::place(Incoming& incoming, const Responder::Placement& placement, Resolved resolved) {
  Adapter& adapter = qp_.adapter;
  const ib::Packet& packet = *incoming.packet;
  if (adapter.placements.is_limited() && resolved != Resolved::kLookUp) [[unlikely]] {
    if (const std::uint64_t lookup = look_up(packet, placement); lookup != 0) return lookup;
  }
  if (ib::info(packet.bth.opcode).begins_message) {
    const ib::Operation operation = ib::operation_of(packet.bth.opcode);
    const bool is_write = operation >= ib::Operation::kWriteFirst && operation <= ib::Operation::kWriteOnlyImm;
    adapter.payloads.begin_message(message_stream(qp_.number, false), is_write);
  }
  const bool allowed = write(incoming, placement);
  Actions actions;
  qp_.responder.execute(packet, placement, allowed, actions);
  qp_.executor.execute(actions, &incoming);
  return 0;
}

std::uint64_t ResponderDriver::look_up(const ib::Packet& packet, const Responder::Placement& placement) {
  const MemoryPiece piece{placement.address, placement.length, placement.key, nullptr};
  std::span<const MemoryPiece> pieces(&piece, placement.length > 0 ? 1 : 0);
  if (placement.receive != nullptr) {
    const ScatterList& list = placement.receive->sges;
    pieces = find_pieces(qp_.adapter, list, placement.offset, placement.length, qp_.memory_owner(), qp_.receive_pd()).pieces;
  }
  return qp_.adapter.placements.begin(qp_.self, false, pieces, packet.trail.shared());
}

bool ResponderDriver::write(Incoming& incoming, const Responder::Placement& placement) {
  if (placement.length == 0 || placement.is_atomic) return true;
  const ib::Packet& packet = *incoming.packet;
  const MessageStream stream = message_stream(qp_.number, false);
  if (placement.receive != nullptr) {
    const RecvWork& work = *placement.receive;
    const ib::Payload payload = qp_.is_datagram() ? with_grh(packet)
                                : qp_.is_raw()    ? placed_payload(qp_, work.sges, packet)
                                                  : behind(packet.payload, placement.skipped);
    if (ib::info(packet.bth.opcode).begins_message && protocol::is_receive_seen(work.number)) {
      const std::uint64_t note = qp_.receives().note_of(work.number);
      if (note != 0 && payload.length != 0)
        qp_.adapter.payloads.check_before_writes(ReceiveCheck::of(qp_, note, work, now()));
    }
    const bool is_placed =
        scatter(qp_, work.sges, placement.offset, payload, incoming, qp_.memory_owner(), qp_.receive_pd(), stream);
    qp_.adapter.payloads.check_before_writes(nullptr);
    return is_placed;
  }
  Context& owner = qp_.owner_of(placement.key);
  const MemoryPiece piece{placement.address, placement.length, placement.key, &owner};
  const auto times = qp_.adapter.payloads.write(owner, packet.payload, {&piece, 1}, stream, order_of(placement.key));
  incoming.release(times.left_adapter);
  return true;
}

WriteOrder ResponderDriver::order_of(std::uint32_t key) const {
  const MemoryRegion* const region = qp_.adapter.keys.find(key);
  if (region != nullptr && (region->access & ib::kRelaxedOrdering) != 0) return WriteOrder::kRelaxed;
  const bool has_quirk = (qp_.adapter.profile.quirks & bit_of(Quirk::kUnorderedWrites)) != 0;
  return has_quirk ? WriteOrder::kQuirk : WriteOrder::kKept;
}

void ResponderDriver::resume(Resolved resolved) {
  const bool waited_for_others = resolved == Resolved::kLookUp || resolved == Resolved::kAtomics;
  held_.resume([&](Incoming&& incoming, bool is_first) {
    if (!is_first && waited_for_others) incoming.packet->trail.add(now(), {qp_.adapter.id, kEarlierPackets});
    process(Incoming(std::move(incoming)), is_first ? resolved : Resolved::kNothing);
  });
  process_kept();
}

void ResponderDriver::on_receive() {
  if (held_.wait() == HeldPackets::Wait::kReceive) resume(Resolved::kNothing);
}

void ResponderDriver::on_no_receive(Instant sampled_at) {
  if (held_.wait() != HeldPackets::Wait::kReceive) return;
  const Instant since = held_.first().checked_at;
  if (sampled_at < since) return qp_.receives().await(qp_.self, since);
  resume(Resolved::kReceive);
}

void ResponderDriver::on_looked_up(std::uint64_t number) {
  if (held_.awaits(number)) resume(Resolved::kLookUp);
}

void ResponderDriver::on_atomic_done(ib::Psn psn, std::uint64_t original, const Trail& trail) {
  Actions actions;
  qp_.responses.on_atomic_result(psn, original, trail, actions);
  qp_.executor.execute(actions);
  if (!qp_.responder.on_atomic_done() || held_.wait() != HeldPackets::Wait::kAtomics) return;
  held_.first().packet->trail.add(now(), {qp_.adapter.id, "responder: earlier atomics"});
  resume(Resolved::kAtomics);
}

void ResponderDriver::drop_held() {
  held_.drop_all();
  kept_.drop_all([](Incoming& incoming) { incoming.drop(DropReason::kWrongState); });
  delays_drop_ = false;
}

Outgoing ResponderDriver::next_packet() {
  Actions actions;
  Outgoing outgoing = qp_.responses.next_packet(now(), actions);
  outgoing.qp = qp_.self;
  qp_.executor.execute(actions);
  return outgoing;
}

}  // namespace verbatim::hca

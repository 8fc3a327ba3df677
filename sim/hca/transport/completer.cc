#include "sim/hca/transport/completer.h"

#include <algorithm>
#include <span>
#include <utility>

#include "sim/hca/adapter.h"
#include "sim/hca/freedom.h"
#include "sim/hca/queues/queue_pair.h"
#include "sim/ib/aeth.h"
#include "sim/ib/segmentation.h"

namespace verbatim::hca {

using ib::WcStatus;
using protocol::WqeOpcode;

namespace {

ib::WcOpcode wc_opcode(WqeOpcode opcode) {
  switch (opcode) {
    case WqeOpcode::kSend:
    case WqeOpcode::kSendWithImm:
    case WqeOpcode::kSendWithInvalidate:
      return ib::WcOpcode::kSend;
    case WqeOpcode::kRdmaWrite:
    case WqeOpcode::kRdmaWriteWithImm:
      return ib::WcOpcode::kRdmaWrite;
    case WqeOpcode::kRdmaRead:
      return ib::WcOpcode::kRdmaRead;
    case WqeOpcode::kAtomicCompareSwap:
      return ib::WcOpcode::kCompareSwap;
    case WqeOpcode::kAtomicFetchAdd:
      return ib::WcOpcode::kFetchAdd;
    case WqeOpcode::kLocalInvalidate:
      return ib::WcOpcode::kLocalInvalidate;
    case WqeOpcode::kBindMemoryWindow:
      return ib::WcOpcode::kBindMw;
  }
  return ib::WcOpcode::kSend;
}

}  // namespace

void Completer::receive(Incoming&& incoming, const ib::OpcodeInfo& operation) {
  if (lookup_ != 0) return behind_.push_back(std::move(incoming));
  deal_with(std::move(incoming), operation);
}

void Completer::deal_with(Incoming&& incoming, const ib::OpcodeInfo& operation) {
  cause_ = incoming.packet->trail;
  take_in(incoming, operation);
  if (lookup_ != 0) held_ = std::move(incoming);
  cause_ = {};
}

void Completer::on_looked_up(std::uint64_t number) {
  if (number != lookup_) return;  // it has been dropped meanwhile
  lookup_ = 0;
  looked_up_ = true;
  const ib::Opcode opcode = held_.packet->bth.opcode;
  deal_with(Incoming(std::move(held_)), ib::info(opcode));
  looked_up_ = false;
  while (lookup_ == 0 && !behind_.empty()) {
    Incoming next = behind_.pop_front();
    next.packet->trail.add(qp_.adapter.engine.now(), {qp_.adapter.id, kEarlierPackets});
    const ib::OpcodeInfo& operation = ib::info(next.packet->bth.opcode);
    deal_with(std::move(next), operation);
  }
}

void Completer::drop_held() {
  if (lookup_ != 0) qp_.adapter.receiver.drop(held_, DropReason::kWrongState);
  lookup_ = 0;
  while (!behind_.empty()) {
    Incoming incoming = behind_.pop_front();
    qp_.adapter.receiver.drop(incoming, DropReason::kWrongState);
  }
}

bool Completer::must_wait(const ScatterList& list, std::uint64_t offset, std::uint32_t length,
                          const ib::Packet& packet) {
  if (looked_up_ || !qp_.adapter.placements.is_limited()) [[likely]]
    return false;
  qp_.find_pieces(list, offset, length, qp_.context, qp_.params.pd);
  lookup_ = qp_.adapter.placements.begin(qp_.self, true, qp_.adapter.scratch_pieces, packet.trail.shared());
  return lookup_ != 0;
}

void Completer::take_in(Incoming& incoming, const ib::OpcodeInfo& operation) {
  const ib::Packet& packet = *incoming.packet;
  const ib::Psn psn = packet.bth.psn;
  const bool is_acknowledgement = operation_of(packet.bth.opcode) == ib::Operation::kAcknowledge;
  if (is_acknowledgement) {
    qp_.adapter.tracer.record(qp_.adapter.id, TraceEvent::kAckReceived, qp_.number, psn.value,
                              packet.aeth.syndrome, packet.aeth.msn);
  }
  // IBA 9.7.5.1.2: only acknowledgements of outstanding requests count, ghosts and duplicates are ignored.
  const Requester& requester = qp_.requester;
  if (distance(requester.unacknowledged_, psn) < 0 || distance(psn, requester.highest_psn_) <= 0) {
    return qp_.adapter.receiver.drop(incoming, DropReason::kStale);
  }
  if (is_acknowledgement) {
    qp_.adapter.receiver.release(incoming, qp_.adapter.engine.now());
    return on_acknowledgement(packet);
  }
  if (operation.has_atomic_ack_eth) {
    on_atomic_response(incoming);
  } else {
    on_read_response(incoming, operation);
  }
  if (lookup_ != 0) return;
  qp_.adapter.receiver.release(incoming, qp_.adapter.engine.now());
}

void Completer::on_acknowledgement(const ib::Packet& packet) {
  const ib::Psn psn = packet.bth.psn;
  const std::uint8_t syndrome = packet.aeth.syndrome;
  switch (ib::ack_kind(syndrome)) {
    case ib::AckKind::kAck:
      qp_.requester.credits_.on_grant(packet.aeth);
      return on_ack(psn);
    case ib::AckKind::kRnrNak:
      return on_rnr_nak(ib::ack_value(syndrome), psn);
    case ib::AckKind::kNak:
      return on_nak(syndrome, psn);
    case ib::AckKind::kReserved:
      return;
  }
}

void Completer::on_read_response(Incoming& incoming, const ib::OpcodeInfo& operation) {
  Requester& requester = qp_.requester;
  const ib::Packet& packet = *incoming.packet;
  const ib::Psn psn = packet.bth.psn;
  if (!retire_through(psn - 1)) return;
  const SendWork& work = requester.works_.front();
  if (work.opcode != WqeOpcode::kRdmaRead) return fail(WcStatus::kBadResponseError);
  // IBA 9.9.2.2: the response has the packets the request asked for. FIRST and ONLY also begin what was asked
  // for again.
  const std::uint32_t offset = static_cast<std::uint32_t>(distance(work.first_psn, psn)) * qp_.path_mtu();
  const ib::Segment segment =
      ib::next_segment(qp_.transport(), ib::MessageKind::kReadResponse, work.length, offset, qp_.path_mtu());
  const bool acknowledges = !operation.has_aeth || ib::ack_kind(packet.aeth.syndrome) == ib::AckKind::kAck;
  if (packet.payload.length != segment.length || operation.ends_message != segment.ends_message ||
      !acknowledges) {
    return fail(WcStatus::kBadResponseError);
  }
  if (operation.has_aeth) requester.credits_.on_grant(packet.aeth);
  if (must_wait(work.sges, offset, packet.payload.length, packet)) return;
  if (!qp_.scatter(work.sges, offset, packet.payload, incoming, qp_.context, qp_.params.pd,
                   message_stream(qp_.number, true)))
    return fail(WcStatus::kLocalProtectionError);
  on_response_placed(psn, segment.ends_message);
}

void Completer::on_atomic_response(Incoming& incoming) {
  const ib::Packet& packet = *incoming.packet;
  const ib::Psn psn = packet.bth.psn;
  if (!retire_through(psn - 1)) return;
  const SendWork& work = qp_.requester.works_.front();
  if (!work.is_atomic() || ib::ack_kind(packet.aeth.syndrome) != ib::AckKind::kAck) {
    return fail(WcStatus::kBadResponseError);
  }
  qp_.requester.credits_.on_grant(packet.aeth);
  if (must_wait(work.sges, 0, sizeof(packet.atomic_ack), packet)) return;
  const auto original = std::as_bytes(std::span(&packet.atomic_ack, 1));
  const ib::Payload payload{ib::PayloadBuffer::copy_of(original), 0, sizeof(packet.atomic_ack)};
  if (!qp_.scatter(work.sges, 0, payload, incoming, qp_.context, qp_.params.pd,
                   message_stream(qp_.number, true)))
    return fail(WcStatus::kLocalProtectionError);
  on_response_placed(psn, true);
}

void Completer::on_response_placed(ib::Psn psn, bool ends_message) {
  Requester& requester = qp_.requester;
  if (ends_message) {
    qp_.adapter.payloads.release_held();
    complete(requester.works_.front(), WcStatus::kSuccess);
    retire_front();
  }
  advance_to(psn + 1);
  requester.restart_ack_timer();
  qp_.check_drained();
  requester.wake();
}

void Completer::on_sent(const ib::Packet& packet) {
  // IBA 9.8.2.1, 9.8.3.1: an unreliable request is complete when its last packet has left.
  Requester& requester = qp_.requester;
  requester.unacknowledged_ = packet.bth.psn + 1;
  if (!ib::info(packet.bth.opcode).ends_message) return;
  cause_ = packet.trail;
  complete(requester.works_.front(), WcStatus::kSuccess);
  cause_ = {};
  retire_front();
  qp_.check_drained();
  requester.wake();
}

bool Completer::retire_through(ib::Psn psn) {
  Requester& requester = qp_.requester;
  const ib::Psn end = psn + 1;
  if (distance(requester.unacknowledged_, end) <= 0) return true;
  while (!requester.works_.empty() && requester.works_.front().begun) {
    const SendWork& work = requester.works_.front();
    if (distance(work.first_psn, end) <= 0) break;
    if (work.has_response()) {
      // IBA 9.7.5.2.4: an answer to a later request implies that the response to this one was lost.
      if (is_before(requester.unacknowledged_, work.first_psn)) advance_to(work.first_psn);
      ask_again();
      return false;
    }
    if (distance(work.end_psn(), end) < 0) break;
    complete(work, WcStatus::kSuccess);
    retire_front();
  }
  advance_to(end);
  return true;
}

void Completer::advance_to(ib::Psn psn) {
  Requester& requester = qp_.requester;
  requester.unacknowledged_ = psn;
  requester.asked_again_ = false;
  requester.reload_retries();  // IBA 9.7.6.1.3: progress restores the counters
  // Packets about to be sent again may be acknowledged by their first sending.
  if (distance(requester.next_psn_, psn) > 0) requester.seek(psn);
  if (requester.rnr_waiting_) {
    requester.rnr_waiting_ = false;
    requester.rnr_timer_.cancel();
  }
}

void Completer::ask_again() {
  Requester& requester = qp_.requester;
  // Once for what is missing: the rest of the old response still comes.
  if (requester.asked_again_) return;
  if (requester.retries_left_ == 0) return fail(WcStatus::kRetryExceeded);
  --requester.retries_left_;
  requester.go_back(requester.unacknowledged_, RetryCause::kMissingResponse, requester.retries_left_);
}

void Completer::on_ack(ib::Psn psn) {
  if (!retire_through(psn)) return;
  qp_.requester.restart_ack_timer();
  qp_.check_drained();
  qp_.requester.wake();
}

void Completer::on_nak(std::uint8_t syndrome, ib::Psn psn) {
  Requester& requester = qp_.requester;
  const auto code = ib::nak_code(syndrome);
  if (!code) return;
  if (!retire_through(psn - 1)) return;  // a NAK acknowledges everything before it
  switch (*code) {
    case ib::NakCode::kPsnSequenceError:
      if (requester.retries_left_ == 0) return fail(WcStatus::kRetryExceeded);
      --requester.retries_left_;
      return requester.go_back(psn, RetryCause::kSequenceNak, requester.retries_left_);
    case ib::NakCode::kInvalidRequest:
      return fail(WcStatus::kRemoteInvalidRequestError);
    case ib::NakCode::kRemoteAccessError:
      return fail(WcStatus::kRemoteAccessError);
    case ib::NakCode::kRemoteOperationalError:
      return fail(WcStatus::kRemoteOperationError);
    case ib::NakCode::kInvalidRdRequest:
      return fail(WcStatus::kRemoteInvalidRdRequest);
  }
}

void Completer::on_rnr_nak(std::uint8_t timer_code, ib::Psn psn) {
  Requester& requester = qp_.requester;
  if (!retire_through(psn - 1)) return;
  if (requester.rnr_waiting_) return;
  constexpr std::uint8_t kEndless = 7;
  if (qp_.attributes.rnr_retry != kEndless) {
    if (requester.rnr_retries_left_ == 0) return fail(WcStatus::kRnrRetryExceeded);
    --requester.rnr_retries_left_;
  }
  requester.rnr_waiting_ = true;
  // IBA 9.7.5.2.8: at least the time asked for.
  const auto factor =
      1 + qp_.adapter.choices.choose(freedom::kRnrTimer, qp_.adapter.id, freedom::kRnrTimerFactors);
  requester.rnr_timer_.schedule_after(ib::rnr_timer(timer_code) * factor);
  requester.go_back(psn, RetryCause::kRnrNak, requester.rnr_retries_left_);
}

void Completer::retire_front() {
  Requester& requester = qp_.requester;
  const bool had_response = requester.works_.pop_front().has_response();
  qp_.send_queue.retire();
  if (requester.cursor_ > 0) {
    --requester.cursor_;
    if (had_response) --requester.responses_awaited_;
  } else {
    requester.cursor_offset_ = 0;
  }
  // What needed no packet is complete with what was before it.
  while (!requester.works_.empty() && requester.works_.front().is_local() && requester.works_.front().begun) {
    retire_local_front();
  }
}

void Completer::retire_local_front() {
  Requester& requester = qp_.requester;
  complete(requester.works_.front(), WcStatus::kSuccess);
  requester.works_.pop_front();
  qp_.send_queue.retire();
  if (requester.cursor_ > 0) --requester.cursor_;
}

void Completer::complete(const SendWork& work, WcStatus status) {
  Trail trail = trail_of(work);
  if (status == WcStatus::kSuccess && !work.is_signaled() && !qp_.params.signal_all) {
    if (trail) [[unlikely]]
      qp_.adapter.tracer.report(
          {MessageEnd::kAcknowledged, qp_.adapter.id, qp_.number, 0, trail.end(), trail});
    return;
  }
  protocol::Cqe entry = qp_.make_completion(work.wr_id, status);
  entry.opcode = static_cast<std::uint8_t>(wc_opcode(work.opcode));
  entry.byte_length = work.length;
  entry.wqe_counter = work.number;
  qp_.adapter.completions.push(qp_.params.send_cq, entry, false, std::move(trail));
}

Trail Completer::trail_of(const SendWork& work) const {
  if (!work.trail) [[likely]]
    return {};
  const Instant now = qp_.adapter.engine.now();
  if (cause_.has_message_of(work.trail)) return cause_;
  // What answers a later request answers this one, too: its own way up to where the later one is sent, then
  // that one's.
  const Trail& own = work.sent ? work.sent : work.trail;
  const Instant handed_over = cause_.last(kHandedOver).value_or(now);
  Trail trail =
      own.until(std::max(handed_over, own.begin()), {qp_.adapter.id, "answered with a later request"});
  trail.follow(cause_);
  trail.add(now, {qp_.adapter.id, "no answer"});
  return trail;
}

void Completer::fail(WcStatus status) {
  Requester& requester = qp_.requester;
  CHECK(!requester.works_.empty());
  complete(requester.works_.front(), status);
  retire_front();
  if (qp_.is_reliable()) {
    qp_.enter_error();
  } else {
    qp_.enter_send_error();
  }
}

void Completer::fail_front_if_faulty() {
  const Requester& requester = qp_.requester;
  if (requester.works_.empty() || requester.works_.front().fault == WcStatus::kSuccess) return;
  const ib::QpState state = qp_.state();
  if (state == ib::QpState::kRts) fail(requester.works_.front().fault);
}

void Completer::flush(const SendWork& work) {
  complete(work, WcStatus::kWorkRequestFlushed);
  qp_.send_queue.retire();
}

void Completer::flush_all() {
  drop_held();
  Requester& requester = qp_.requester;
  while (!requester.works_.empty()) {
    flush(requester.works_.front());
    requester.works_.pop_front();
  }
  requester.cursor_ = 0;
  requester.cursor_offset_ = 0;
  requester.responses_awaited_ = 0;
  requester.fetch_more();
}

}  // namespace verbatim::hca

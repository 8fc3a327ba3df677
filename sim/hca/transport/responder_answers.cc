// Execution and refusal of requests by a responder: READs and atomics, duplicates, answers and completions.
#include <utility>

#include "sim/hca/transport/responder.h"
#include "sim/ib/segmentation.h"
#include "sim/ib/wire.h"

namespace verbatim::hca {

using ib::NakCode;
using ib::WcStatus;

namespace {

// An ATOMIC WRITE has the answer of a READ of no bytes from the same address.
ib::Reth no_bytes_of(ib::Reth reth) {
  reth.length = 0;
  return reth;
}

}  // namespace

void Responder::execute(const ib::Packet& packet, const Placement& placement, bool allowed, Actions& actions) {
  actions.set_cause(packet.trail);
  const Request request{packet, ib::info(packet.bth.opcode), actions, nullptr};
  if (!allowed) {
    fail_receive(request, WcStatus::kLocalProtectionError, NakCode::kRemoteOperationalError, Refusal::kReceiveKey);
    return;
  }
  if (connection_.is_datagram()) return execute_datagram(request);
  if (connection_.is_raw()) return complete_receive(WcStatus::kSuccess, true, placement.length, actions);
  if (request.operation.has_invalidate && !surroundings_.invalidate(packet.invalidate_rkey)) {
    fail_receive(request, WcStatus::kLocalProtectionError, NakCode::kRemoteAccessError, Refusal::kInvalidatedKey);
    return;
  }
  if (!established_) {
    established_ = true;
    if (connection_.state() == ib::QpState::kRtr) actions.raise(ib::AsyncEventType::kCommunicationEstablished);
  }
  const bool ends_nak = gap_nak_sent_ || rnr_nak_sent_;
  if (kind_ == Message::kRead) {
    execute_read(request);
  } else if (kind_ == Message::kAtomic) {
    execute_atomic(request, placement.address);
  } else if (kind_ == Message::kAtomicWrite) {
    execute_atomic_write(request);
  } else {
    execute_message(request);
  }
  if (ends_nak) [[unlikely]] end_nak(actions);
}

void Responder::end_nak(Actions& actions) {
  gap_nak_sent_ = rnr_nak_sent_ = false;
  if (!connection_.address.accepts_any_path || repeats_selectively()) return;
  // The next gap has been reported to nobody, and its packets may have been sent again and lost again: its age
  // begins here.
  kept_.advance(expected_);
  if (const std::optional<ib::Psn> seen = kept_.first_behind_gap()) report_gap(*seen, actions);
}

void Responder::execute_message(const Request& request) {
  expected_ = expected_ + 1;
  received_ += request.packet.payload.length;
  message_ = kind_;
  if (request.operation.ends_message) {
    msn_ = (msn_ + 1) & 0xffffff;
    if (current_ && (kind_ == Message::kSend || request.operation.has_immediate)) {
      complete_receive(WcStatus::kSuccess, true, received_, request.actions);
    }
    message_ = Message::kNone;
    received_ = 0;
  }
  // IBA 9.7.5.1.2: an acknowledgement may cover several requests; this adapter sends one per request for it.
  // An unreliable service has no acknowledgements, whatever its packets ask (IBA 9.8.2).
  if (request.packet.bth.ack_request && connection_.is_reliable()) {
    send_ack(acknowledgement(request.actions).syndrome, request.packet.bth.psn, request.actions);
  }
}

void Responder::execute_read(const Request& request) {
  const ib::Packet& packet = request.packet;
  // IBA 9.7.2: the response takes the PSNs from the request's on.
  expected_ = expected_ + ib::packet_count(packet.reth.length, connection_.path_mtu());
  msn_ = (msn_ + 1) & 0xffffff;
  responses_.add_read(packet.bth.psn, packet.reth, acknowledgement(request.actions), surroundings_.target_ref(),
                      request.actions);
}

void Responder::execute_atomic(const Request& request, host::ProgramAddress address) {
  expected_ = expected_ + 1;
  msn_ = (msn_ + 1) & 0xffffff;
  responses_.add_atomic(request.packet.bth.psn, acknowledgement(request.actions), request.actions);
  ++atomics_;
  request.actions.execute_atomic(address);
}

void Responder::execute_atomic_write(const Request& request) {
  expected_ = expected_ + 1;
  msn_ = (msn_ + 1) & 0xffffff;
  responses_.add_read(request.packet.bth.psn, no_bytes_of(request.packet.reth), acknowledgement(request.actions),
                      surroundings_.target_ref(), request.actions);
}

void Responder::execute_datagram(const Request& request) {
  complete_receive(WcStatus::kSuccess, true, ib::kGrhBytes + request.packet.payload.length, request.actions);
}

Responder::Step Responder::repeat(const Request& request) {
  const ib::Packet& packet = request.packet;
  request.actions.record(TraceEvent::kDuplicate, packet.bth.psn.value,
                         static_cast<std::uint32_t>(packet.bth.opcode), 0);
  switch (operation_of(packet.bth.opcode)) {
    case ib::Operation::kReadRequest:
      return repeat_read(request);
    case ib::Operation::kCompareSwap:
    case ib::Operation::kFetchAdd:
      if (!responses_.repeat_atomic(packet.bth.psn, acknowledgement(request.actions), request.actions)) {
        request.actions.drop(DropReason::kUnknownDuplicate);
      }
      return Step::kDone;
    case ib::Operation::kAtomicWrite: {
      // It is answered, and not executed again.
      const ib::Reth answered = no_bytes_of(packet.reth);
      if (responses_.has_executed(packet.bth.psn, answered)) {
        responses_.repeat_read(packet.bth.psn, answered, acknowledgement(request.actions), surroundings_.target_ref(),
                               request.actions);
      } else {
        request.actions.drop(DropReason::kUnknownDuplicate);
      }
      return Step::kDone;
    }
    default:
      // IBA 9.7.5.1.4: a duplicate SEND or WRITE is not executed again; the newest acknowledgement answers
      // it.
      if (packet.bth.ack_request) send_ack(acknowledgement(request.actions).syndrome, expected_ - 1, request.actions);
      return Step::kDone;
  }
}

Responder::Step Responder::repeat_read(const Request& request) {
  const ib::Packet& packet = request.packet;
  // IBA 9.7.5.1.4: a READ whose range is within an executed one is executed again, from the present memory.
  // Other responses that the requester is owed stay owed.
  kind_ = Message::kRead;
  if (!responses_.has_executed(packet.bth.psn, packet.reth)) {
    request.actions.drop(DropReason::kUnknownDuplicate);
    return Step::kDone;
  }
  const auto refuse_again = [&](const Refusal& why) {
    responses_.discard_from(packet.bth.psn);
    return refuse(request, NakCode::kRemoteAccessError, why);
  };
  if (!has_right(kind_)) return refuse_again(Refusal::kRight);
  // A message that is being received keeps its own shared receive queue.
  const Ref<SharedReceiveQueue> target = connection_.is_xrc_receiver() ? surroundings_.find_target(packet.xrc_srqn)
                                                                       : surroundings_.target_ref();
  const ib::Reth& reth = packet.reth;
  // IBA 9.7.4.1.7: a request for no bytes is not checked.
  if (reth.length > 0 &&
      !surroundings_.check_remote(&target, reth.rkey.value, reth.va.value, reth.length, right_of(kind_))) {
    return refuse_again({Refusal::kRemoteKey, reth});
  }
  responses_.repeat_read(packet.bth.psn, reth, acknowledgement(request.actions), target, request.actions);
  return Step::kDone;
}

Responder::Step Responder::drop_message(const Request& request, DropReason reason) {
  // IBA 9.8.2.2: an invalid unreliable message is an error of neither side; it is dropped.
  message_ = Message::kNone;
  received_ = 0;
  expected_ = request.packet.bth.psn + 1;
  request.actions.drop(reason);
  return Step::kDone;
}

Responder::Step Responder::refuse(const Request& request, NakCode code, const Refusal& why) {
  request.actions.diagnose(why);
  if (!connection_.is_reliable()) return drop_message(request, DropReason::kRefused);
  send_ack(ib::nak_syndrome(code), request.packet.bth.psn, request.actions);
  request.actions.raise(code == NakCode::kRemoteAccessError ? ib::AsyncEventType::kQpAccessError
                                                            : ib::AsyncEventType::kQpRequestError);
  request.actions.add(Action::Kind::kRelease);
  responses_.close();
  request.actions.add(Action::Kind::kEnterError);
  return Step::kDone;
}

Responder::Step Responder::fail_receive(const Request& request, WcStatus status, NakCode code, const Refusal& why) {
  request.actions.diagnose(why);
  if (connection_.is_reliable()) send_ack(ib::nak_syndrome(code), request.packet.bth.psn, request.actions);
  complete_receive(status, false, 0, request.actions);
  request.actions.add(Action::Kind::kRelease);
  responses_.close();
  request.actions.add(Action::Kind::kEnterError);
  return Step::kDone;
}

ib::Aeth Responder::acknowledgement(Actions& actions) {
  // IBA 9.7.7.2.5: receives of a shared queue are granted to no peer.
  if (!connection_.profile.end_to_end_credits || connection_.type != ib::QpType::kRc ||
      surroundings_.target_ref().get() != nullptr) {
    return {ib::ack_syndrome(ib::kUnlimitedCredits), msn_};
  }
  // The receive of a message in progress has been taken, but the MSN does not count it yet.
  const std::uint32_t receives = surroundings_.unused_receives() + (current_ ? 1 : 0);
  if (receives == 0 && !granted_none_) actions.add(Action::Kind::kWatchReceives);
  granted_none_ = receives == 0;
  return {ib::ack_syndrome(ib::credit_code(receives)), msn_};
}

void Responder::on_receives(Actions& actions) {
  if (!granted_none_ || !connection_.can_receive()) return;
  send_ack(acknowledgement(actions).syndrome, expected_ - 1, actions);
}

void Responder::send_ack(std::uint8_t syndrome, ib::Psn psn, Actions& actions) { send_answer({syndrome, msn_}, psn, actions); }

void Responder::send_answer(const ib::Aeth& aeth, ib::Psn psn, Actions& actions) {
  if (responses_.is_idle()) {
    actions.acknowledge(psn, aeth);
  } else {
    responses_.add_acknowledgement(psn, aeth, actions);
  }
}

void Responder::report_gap(ib::Psn seen, Actions& actions) {
  // Where packets may overtake each other, a gap means a loss only after `gap_time`.
  const LossRecoveryProfile& recovery = connection_.profile.loss_recovery;
  const Duration generation = connection_.address.accepts_any_path ? recovery.gap_time : recovery.nak_generation;
  if (generation == Duration::zero()) return send_gap_nak(seen, actions);
  actions.recover_later(RecoveryStep::kNak, generation, seen, gap_naks_);
}

void Responder::on_nak_due(ib::Psn seen, std::uint32_t naks, Actions& actions) {
  // No NAK when request `seen` has been executed meanwhile. Otherwise it was discarded or is kept, and the
  // NAK has the PSN that is missing now.
  if (!connection_.can_receive() || distance(expected_, seen) < 0) return;
  if (!repeats_selectively()) {
    if (connection_.address.accepts_any_path) {
      // Several requests may each have been the first behind a gap: one NAK has all of them sent again.
      if (gap_nak_sent_ || rnr_nak_sent_ || naks != gap_naks_) return;
      ++gap_naks_;
    }
    gap_nak_sent_ = true;
  }
  send_gap_nak(seen, actions);
}

// With selective repeat a NAK has the PSN that has arrived in place of the MSN, which no requester reads in a
// NAK. IRN adds a field for it; the behaviour of devices is not published.
void Responder::send_gap_nak(ib::Psn seen, Actions& actions) {
  const std::uint32_t number = repeats_selectively() ? seen.value : msn_;
  send_answer({ib::nak_syndrome(NakCode::kPsnSequenceError), number}, expected_, actions);
}

void Responder::complete_receive(WcStatus status, bool has_message, std::uint32_t bytes, Actions& actions) {
  if (current_->match != nullptr && has_message) [[unlikely]] bytes -= current_->match->consumed;
  actions.complete_receive({current_->wr_id, current_->number, status, has_message, kind_ == Message::kWrite, bytes,
                            std::move(current_->match)});
  current_.reset();
}

}  // namespace verbatim::hca

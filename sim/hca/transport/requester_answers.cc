// Effects of acknowledgements and responses on the requests of a requester (IBA 9.7.7.2).
#include <algorithm>
#include <utility>

#include "sim/hca/transport/requester.h"
#include "sim/ib/aeth.h"
#include "sim/ib/segmentation.h"

namespace verbatim::hca {

using ib::WcStatus;
using protocol::WqeOpcode;

Requester::Placement Requester::receive(const ib::Packet& packet, Instant now, Actions& actions) {
  const ib::OpcodeInfo& operation = ib::info(packet.bth.opcode);
  const ib::Psn psn = packet.bth.psn;
  const bool is_acknowledgement = operation_of(packet.bth.opcode) == ib::Operation::kAcknowledge;
  if (is_acknowledgement) {
    actions.record(TraceEvent::kAckReceived, psn.value, packet.aeth.syndrome, packet.aeth.msn);
  }
  // IBA 9.7.5.1.2: only acknowledgements of outstanding requests count; ghosts and duplicates are dropped.
  if (distance(unacknowledged_, psn) < 0 || distance(psn, highest_psn_) <= 0) {
    if (is_acknowledgement && brings_credits(packet)) {
      actions.add(Action::Kind::kRelease);
      actions.add(Action::Kind::kActivate);
      return {};
    }
    actions.drop(ib::DropReason::kStale);
    return {};
  }
  cause_ = packet.trail;
  Placement placement;
  if (is_acknowledgement) {
    actions.add(Action::Kind::kRelease);
    placement = on_acknowledgement(packet, now, actions);
  } else {
    placement = operation.has_atomic_ack_eth ? on_atomic_response(packet, now, actions)
                                             : on_read_response(packet, operation, now, actions);
    if (placement.list == nullptr) actions.add(Action::Kind::kRelease);
  }
  return placement;
}

bool Requester::brings_credits(const ib::Packet& packet) {
  // IBA 9.7.7.2.5: an unsolicited acknowledgement has the PSN of the newest one, and may grant more credits.
  return packet.bth.psn == unacknowledged_ - 1 && ib::ack_kind(packet.aeth.syndrome) == ib::AckKind::kAck &&
         credits_.on_grant(packet.aeth);
}

Requester::Placement Requester::on_acknowledgement(const ib::Packet& packet, Instant now, Actions& actions) {
  const ib::Psn psn = packet.bth.psn;
  const std::uint8_t syndrome = packet.aeth.syndrome;
  switch (ib::ack_kind(syndrome)) {
    case ib::AckKind::kAck:
      credits_.on_grant(packet.aeth);
      return on_ack(packet, now, actions);
    case ib::AckKind::kRnrNak:
      on_rnr_nak(ib::ack_value(syndrome), psn, now, actions);
      break;
    case ib::AckKind::kNak:
      on_nak(packet.aeth, psn, now, actions);
      break;
    case ib::AckKind::kReserved:
      break;
  }
  return {};
}

Requester::Placement Requester::on_read_response(const ib::Packet& packet, const ib::OpcodeInfo& operation, Instant now,
                                                Actions& actions) {
  const ib::Psn psn = packet.bth.psn;
  if (!retire_through(psn - 1, now, actions)) return on_early_answer(packet, now, actions);
  const SendWork& work = works_.front();
  const auto refuse = [&] {
    fail(WcStatus::kBadResponseError, now, actions);
    return Placement();
  };
  const bool acknowledges = !operation.has_aeth || ib::ack_kind(packet.aeth.syndrome) == ib::AckKind::kAck;
  if (work.is_atomic_write()) {
    // Its answer is that of a READ of no bytes.
    if (packet.payload.length != 0 || !operation.begins_message || !operation.ends_message || !acknowledges) return refuse();
    credits_.on_grant(packet.aeth);
    return {&work.sges, 0, 0};
  }
  if (work.opcode != WqeOpcode::kRdmaRead) return refuse();
  // IBA 9.9.2.2: the response has the packets the request asked for. FIRST and ONLY also begin what was asked
  // for again, and with selective repeat LAST and ONLY end it anywhere.
  const std::uint32_t mtu = connection_.path_mtu();
  const std::uint32_t offset = static_cast<std::uint32_t>(distance(work.first_psn, psn)) * mtu;
  const ib::Segment segment =
      ib::next_segment(connection_.transport(), ib::MessageKind::kReadResponse, work.length, offset, mtu);
  const bool ends = operation.ends_message && (segment.ends_message || !repeats_.is_on());
  if (packet.payload.length != segment.length || ends != segment.ends_message || !acknowledges) {
    return refuse();
  }
  if (operation.has_aeth) credits_.on_grant(packet.aeth);
  return {&work.sges, offset, packet.payload.length, work.is_own};
}

Requester::Placement Requester::on_atomic_response(const ib::Packet& packet, Instant now, Actions& actions) {
  if (!retire_through(packet.bth.psn - 1, now, actions)) return on_early_answer(packet, now, actions);
  const SendWork& work = works_.front();
  if (!work.is_atomic() || ib::ack_kind(packet.aeth.syndrome) != ib::AckKind::kAck) {
    fail(WcStatus::kBadResponseError, now, actions);
    return {};
  }
  credits_.on_grant(packet.aeth);
  return {&work.sges, 0, sizeof(packet.atomic_ack)};
}

void Requester::on_placed(const ib::Packet& packet, bool allowed, Instant now, Actions& actions) {
  if (!allowed) {
    fail(WcStatus::kLocalProtectionError, now, actions);
  } else {
    if (packet.bth.psn + 1 == works_.front().end_psn()) {
      actions.add(Action::Kind::kEndMessage);
      complete(works_.front(), WcStatus::kSuccess, now, actions);
      retire_front(now, actions);
    }
    advance_to(packet.bth.psn + 1, actions);
    on_progress(now, actions);
  }
  actions.add(Action::Kind::kRelease);
}

void Requester::on_progress(Instant now, Actions& actions) {
  if (recovers_from_timeout_) [[unlikely]] repeat_next_after_timeout(actions);
  if (connection_.is_reliable()) restart_ack_timer(actions);
  if (connection_.state() == ib::QpState::kSqd) actions.add(Action::Kind::kCheckDrained);
  wake(now, actions);
}

void Requester::on_sent(const ib::Packet& packet, Instant now, Actions& actions) {
  // IBA 9.8.2.1, 9.8.3.1: an unreliable request is complete when its last packet has left.
    unacknowledged_ = packet.bth.psn + 1;
  if (!ib::info(packet.bth.opcode).ends_message) return;
  cause_ = packet.trail;
  complete(works_.front(), WcStatus::kSuccess, now, actions);
  cause_ = {};
  retire_front(now, actions);
  on_progress(now, actions);
}

bool Requester::retire_through(ib::Psn psn, Instant now, Actions& actions) {
  const ib::Psn end = psn + 1;
  if (distance(unacknowledged_, end) <= 0) return true;
  while (!works_.empty() && works_.front().begun) {
    const SendWork& work = works_.front();
    if (distance(work.first_psn, end) <= 0) break;
    if (work.has_response()) {
      // IBA 9.7.5.2.4: an answer to a later request implies that the response to this one was lost.
      if (is_before(unacknowledged_, work.first_psn)) advance_to(work.first_psn, actions);
      return false;
    }
    if (distance(work.end_psn(), end) < 0) break;
    complete(work, WcStatus::kSuccess, now, actions);
    retire_front(now, actions);
  }
  advance_to(end, actions);
  return true;
}

void Requester::advance_to(ib::Psn psn, Actions& actions) {
  unacknowledged_ = psn;
  asked_again_ = false;
  reload_retries();  // IBA 9.7.6.1.3: progress restores the counters
  repeats_.on_progress(psn);
  if (repeats_.is_on()) [[unlikely]] {
    missing_responses_.on_progress(psn);
    kept_.advance(psn);
  }
  // Packets about to be sent again may be acknowledged by their first sending.
  if (distance(next_psn_, psn) > 0) seek(psn);
  if (rnr_waiting_) {
    rnr_waiting_ = false;
    actions.add(Action::Kind::kCancelRnrTimer);
  }
}

Requester::Placement Requester::on_early_answer(const ib::Packet& packet, Instant now, Actions& actions) {
  const ib::Psn psn = packet.bth.psn;
  const bool is_acknowledgement = operation_of(packet.bth.opcode) == ib::Operation::kAcknowledge;
  const Place place = place_of(psn);
  // An acknowledgement may have the PSN of a response: that of a duplicate has the newest PSN.
  if (!repeats_.is_on() || place.work >= works_.size() || works_[place.work].has_response() == is_acknowledgement) {
    ask_again(now, actions);
    return {};
  }
  if (!kept_.add(psn)) return {};  // it is kept already, or too far behind the gap
  const Duration generation = connection_.profile.loss_recovery.read_nak_generation;
  if (generation == Duration::zero()) {
    ask_for_missing(psn, now, actions);
  } else {
    actions.recover_later(RecoveryStep::kAskAgain, generation, psn, epoch_);
  }
  return {.is_early = true};
}

void Requester::ask_for_missing(ib::Psn seen, Instant now, Actions& actions) {
  if (rnr_waiting_) return;  // all packets are sent again when the RNR timer expires
  // Requests without a response that precede an answer have been executed.
  for (std::size_t i = 0; i < works_.size() && works_[i].begun && distance(works_[i].first_psn, seen) > 0; ++i) {
    const SendWork& work = works_[i];
    const ib::Psn first = is_before(work.first_psn, unacknowledged_) ? unacknowledged_ : work.first_psn;
    if (!work.has_response()) missing_responses_.on_known(first, work.end_psn());
  }
  if (missing_responses_.on_gap(unacknowledged_, seen, 1, highest_psn_)) {
    if (!take_retry(now, actions)) return;
    if (migrates_) return go_back(unacknowledged_, RetryCause::kMissingResponse, retries_left_, now, actions);
    actions.record(TraceEvent::kRetransmission, unacknowledged_.value,
                   static_cast<std::uint32_t>(RetryCause::kMissingResponse), retries_left_);
  }
  if (missing_responses_.has_next()) actions.add(Action::Kind::kActivate);
}

std::optional<ib::Psn> Requester::next_kept() const {
  for (std::size_t i = 0; i < works_.size() && works_[i].begun; ++i) {
    const SendWork& work = works_[i];
    ib::Psn psn = is_before(work.first_psn, unacknowledged_) ? unacknowledged_ : work.first_psn;
    if (work.has_response()) return kept_.has(psn) ? std::optional(psn) : std::nullopt;
    for (; distance(psn, work.end_psn()) > 0; psn = psn + 1) {
      if (kept_.has(psn)) return psn;
    }
  }
  return std::nullopt;
}

void Requester::ask_again(Instant now, Actions& actions) {
  // A missing response is asked for once: the rest of the old response still arrives.
  if (asked_again_) return;
  const Duration generation = connection_.profile.loss_recovery.read_nak_generation;
  if (generation == Duration::zero()) return ask_again_now(now, actions);
  asked_again_ = true;
  actions.recover_later(RecoveryStep::kAskAgain, generation, unacknowledged_, epoch_);
}

void Requester::on_ask_again_due(ib::Psn seen, std::uint32_t epoch, Instant now, Actions& actions) {
  if (is_flushing() || unacknowledged_ == highest_psn_ || epoch != epoch_) return;
  if (kept_.has(seen)) return ask_for_missing(seen, now, actions);
  // With selective repeat the answer may have been processed meanwhile.
  if (!repeats_.is_on() || asked_again_) ask_again_now(now, actions);
}

void Requester::ask_again_now(Instant now, Actions& actions) {
  if (!take_retry(now, actions)) return;
  go_back(unacknowledged_, RetryCause::kMissingResponse, retries_left_, now, actions);
}

Requester::Placement Requester::on_ack(const ib::Packet& packet, Instant now, Actions& actions) {
  if (!retire_through(packet.bth.psn, now, actions)) return on_early_answer(packet, now, actions);
  on_progress(now, actions);
  return {};
}

void Requester::on_nak(const ib::Aeth& aeth, ib::Psn psn, Instant now, Actions& actions) {
  const auto code = ib::nak_code(aeth.syndrome);
  if (!code) return;
  if (!retire_through(psn - 1, now, actions)) return ask_again(now, actions);  // a NAK acknowledges everything before it
  switch (*code) {
    case ib::NakCode::kPsnSequenceError:
      return on_gap(ib::Psn{aeth.msn}, now, actions);
    case ib::NakCode::kInvalidRequest:
      return fail(WcStatus::kRemoteInvalidRequestError, now, actions);
    case ib::NakCode::kRemoteAccessError:
      return fail(WcStatus::kRemoteAccessError, now, actions);
    case ib::NakCode::kRemoteOperationalError:
      return fail(WcStatus::kRemoteOperationError, now, actions);
    case ib::NakCode::kInvalidRdRequest:
      return fail(WcStatus::kRemoteInvalidRdRequest, now, actions);
  }
}

void Requester::on_gap(ib::Psn seen, Instant now, Actions& actions) {
  const Duration reaction = connection_.profile.loss_recovery.nak_reaction;
  if (reaction == Duration::zero()) return repeat_missing(seen, now, actions);
  actions.recover_later(RecoveryStep::kRepeat, reaction, seen, epoch_);
}

void Requester::on_repeat_due(ib::Psn seen, std::uint32_t epoch, Instant now, Actions& actions) {
  // The missing packet may have arrived meanwhile. Packets behind it were discarded, or another one is
  // missing as well. In another epoch all packets have been sent again.
  if (!is_flushing() && unacknowledged_ != highest_psn_ && epoch == epoch_) repeat_missing(seen, now, actions);
}

void Requester::repeat_missing(ib::Psn seen, Instant now, Actions& actions) {
  if (!repeats_.is_on()) {
    if (!take_retry(now, actions)) return;
    return go_back(unacknowledged_, RetryCause::kSequenceNak, retries_left_, now, actions);
  }
  if (rnr_waiting_) return;  // all packets are sent again when the RNR timer expires
  const Place place = place_of(seen);
  const bool is_response = place.work < works_.size() && works_[place.work].has_response();
  if (repeats_.on_gap(unacknowledged_, seen, is_response ? works_[place.work].packets : 1, highest_psn_)) {
    if (!take_retry(now, actions)) return;
    if (migrates_) return go_back(unacknowledged_, RetryCause::kSequenceNak, retries_left_, now, actions);
    actions.record(TraceEvent::kRetransmission, unacknowledged_.value, static_cast<std::uint32_t>(RetryCause::kSequenceNak),
                   retries_left_);
  }
  if (repeats_.has_next()) actions.add(Action::Kind::kActivate);
}

void Requester::repeat_next_after_timeout(Actions& actions) {
  if (distance(timeout_end_, unacknowledged_) >= 0) {
    recovers_from_timeout_ = false;
    return;
  }
  const bool waits = is_repeating() || repeats_.next() != unacknowledged_ || missing_responses_.next() != unacknowledged_;
  const bool has_arrived = repeats_.has_arrived(unacknowledged_) || missing_responses_.has_arrived(unacknowledged_) ||
                           kept_.has(unacknowledged_);
  if (!waits && !has_arrived) repeat_oldest(actions);
}

void Requester::on_rnr_nak(std::uint8_t timer_code, ib::Psn psn, Instant now, Actions& actions) {
  if (!retire_through(psn - 1, now, actions)) return ask_again(now, actions);
  if (rnr_waiting_) return;
  ++rnr_naks_;
  if (connection_.attributes.rnr_retry != kEndlessRnrRetry) {
    if (rnr_retries_left_ == 0) return fail(WcStatus::kRnrRetryExceeded, now, actions);
    --rnr_retries_left_;
  }
  rnr_waiting_ = true;
  actions.add(Action::Kind::kArmRnrTimer, ib::rnr_timer(timer_code));
  go_back(psn, RetryCause::kRnrNak, rnr_retries_left_, now, actions);
}

void Requester::retire_front(Instant now, Actions& actions) {
  const bool had_response = works_.front().has_response();
  drop_front();
  if (cursor_ > 0) {
    --cursor_;
    if (had_response) --responses_awaited_;
  } else {
    cursor_offset_ = 0;
  }
  // Local requests are complete with the request before them.
  while (!works_.empty() && works_.front().is_local() && works_.front().begun) {
    retire_local_front(now, actions);
  }
}

void Requester::retire_local_front(Instant now, Actions& actions) {
  complete(works_.front(), WcStatus::kSuccess, now, actions);
  drop_front();
  if (cursor_ > 0) --cursor_;
}

void Requester::complete(const SendWork& work, WcStatus status, Instant now, Actions& actions) {
  Trail trail = trail_of(work, now);
  const bool has_entry = !work.is_own && (status != WcStatus::kSuccess || work.is_signaled() || connection_.signal_all);
  // The program gets a completion for the READ of a rendezvous.
  const bool is_own_read = work.is_own && work.opcode == WqeOpcode::kRdmaRead;
  if (!has_entry && !is_own_read && !trail) return;
  actions.complete(
      {work.wr_id, work.number, work.length, work.opcode, status, has_entry, is_own_read, std::move(trail)});
}

Trail Requester::trail_of(const SendWork& work, Instant now) const {
  if (!work.trail) [[likely]]
    return {};
  if (cause_.has_message_of(work.trail)) return cause_;
  // The answer to a later request acknowledges this one: its trail has its own steps until the later request
  // is sent, and then the later request's steps.
  const Trail& own = work.sent ? work.sent : work.trail;
  const Instant handed_over = cause_.last(kHandedOver).value_or(now);
  Trail trail =
      own.until(std::max(handed_over, own.begin()), {connection_.component, "answered with a later request"});
  trail.follow(cause_);
  trail.add(now, {connection_.component, "no answer"});
  return trail;
}

void Requester::fail(WcStatus status, Instant now, Actions& actions) {
  CHECK(!works_.empty());
  complete(works_.front(), status, now, actions);
  retire_front(now, actions);
  actions.add(connection_.is_reliable() ? Action::Kind::kEnterError : Action::Kind::kEnterSendError);
}

void Requester::fail_front_if_faulty(Instant now, Actions& actions) {
  if (works_.empty() || works_.front().fault == WcStatus::kSuccess) return;
  if (connection_.state() == ib::QpState::kRts) fail(works_.front().fault, now, actions);
}

}  // namespace verbatim::hca

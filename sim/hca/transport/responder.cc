#include "sim/hca/transport/responder.h"

#include <algorithm>
#include <utility>

#include "sim/ib/wire.h"

namespace verbatim::hca {

using ib::NakCode;
using ib::QpState;
using ib::WcStatus;

// The access right that a queue pair and a memory region must give for a kind of request.
std::uint32_t Responder::right_of(Message kind) {
  switch (kind) {
    case Message::kWrite:
    case Message::kAtomicWrite:
      return ib::kRemoteWrite;
    case Message::kRead:
      return ib::kRemoteRead;
    case Message::kAtomic:
      return ib::kRemoteAtomic;
    case Message::kSend:
    case Message::kNone:
      return 0;
  }
  return 0;
}

void Responder::start(ib::Psn expected) {
  expected_ = expected;
  msn_ = 0;
  if (keeps_packets()) kept_.start(connection_.profile.loss_recovery.psn_window(), expected);
}

void Responder::reset() {
  expected_ = {};
  msn_ = 0;
  gap_nak_sent_ = rnr_nak_sent_ = established_ = granted_none_ = false;
  message_ = Message::kNone;
  received_ = 0;
  current_.reset();
  atomics_ = 0;  // atomics under way belong to the life before the reset
}

std::optional<RecvWork> Responder::abandon() {
  message_ = Message::kNone;
  return std::exchange(current_, std::nullopt);
}

Responder::Verdict Responder::receive(ib::Packet& packet, Instant now, Actions& actions) {
  Verdict verdict;
  if (!connection_.can_receive()) {
    actions.drop(DropReason::kWrongState);
    return verdict;
  }
  packet.trail.add(now, {connection_.component, "responder: receive work request"});
  actions.set_cause(packet.trail);
  const Request request{packet, ib::info(packet.bth.opcode), actions, &verdict.placement};
  Step first = Step::kPsn;
  if (connection_.is_raw()) [[unlikely]] {
    kind_ = Message::kSend;
    first = Step::kResources;
  } else if (connection_.is_datagram()) {
    first = begin_datagram(request);
  }
  verdict.need = take_steps(request, first);
  return verdict;
}

Responder::Verdict Responder::on_receive(RecvWork&& work, const ib::Packet& packet, Actions& actions) {
  Verdict verdict;
  const Request request{packet, ib::info(packet.bth.opcode), actions, &verdict.placement};
  current_ = std::move(work);
  if (current_->malformed) {
    fail_receive(request, WcStatus::kLocalQpOperationError, NakCode::kRemoteOperationalError, Refusal::kReceiveEntry);
  } else {
    verdict.need = take_steps(request, Step::kLength);
  }
  return verdict;
}

void Responder::on_no_receive(const ib::Packet& packet, Actions& actions) {
  if (!connection_.is_reliable()) {
    drop_message({packet, ib::info(packet.bth.opcode), actions, nullptr}, DropReason::kNoReceive);
    return;
  }
  // IBA 9.7.5.2.8: receiver not ready; the requester waits and sends the same PSN again. Packets that it has
  // sent behind it are not reported as a gap.
  rnr_nak_sent_ = true;
  send_ack(ib::rnr_nak_syndrome(connection_.attributes.min_rnr_timer), expected_, actions);
  actions.drop(DropReason::kAfterNak);
}

void Responder::on_failed_queue(const ib::Packet& packet, Actions& actions) {
  // IBA 9.9.3: an error of the responder's own side that no completion can report.
  if (connection_.is_reliable()) {
    send_ack(ib::nak_syndrome(NakCode::kRemoteOperationalError), packet.bth.psn, actions);
  }
  actions.diagnose(Refusal::kReceiveQueue);
  actions.add(Action::Kind::kRelease);
  responses_.close();
  actions.add(Action::Kind::kFailFatally);
}

Responder::Need Responder::take_steps(const Request& request, Step step) {
  while (true) {
    switch (step) {
      case Step::kPsn:
        step = check_psn(request);
        break;
      case Step::kTarget:
        step = check_target(request);
        break;
      case Step::kSequence:
        step = check_sequence(request);
        break;
      case Step::kRights:
        step = check_rights(request);
        break;
      case Step::kResources:
        step = check_resources(request);
        break;
      case Step::kLength:
        step = check_length(request);
        break;
      case Step::kRemoteKey:
        step = check_remote_key(request);
        break;
      case Step::kDone:
        return Need::kNothing;
      case Step::kWaitForReceive:
        return Need::kReceive;
      case Step::kWaitForAtomics:
        return Need::kAtomics;
      case Step::kWaitForOthers:
        return Need::kOthers;
      case Step::kExecute:
        return Need::kPlacement;
    }
  }
}

Responder::Step Responder::begin_datagram(const Request& request) {
  // IBA 9.8.3.1: each datagram is a message of its own, in no order; its Q_Key must be the queue pair's.
  if (request.packet.deth.qkey != connection_.attributes.qkey) {
    request.actions.add(Action::Kind::kCountQkeyViolation);
    request.actions.drop(DropReason::kWrongQkey);
    return Step::kDone;
  }
  kind_ = Message::kSend;
  return Step::kResources;
}

Responder::Step Responder::check_psn_unreliable(const Request& request) {
  // IBA 9.8.2.2: after a gap the rest of the message is dropped; the next that begins is expected. A receive
  // that the lost message had taken serves the next.
  if (request.packet.bth.psn == expected_ && !request.operation.begins_message) return Step::kSequence;
  message_ = Message::kNone;
  received_ = 0;
  expected_ = request.packet.bth.psn;
  return Step::kSequence;
}

Responder::Step Responder::check_psn(const Request& request) {
  if (!connection_.is_reliable()) return check_psn_unreliable(request);
  const ib::Bth& bth = request.packet.bth;
  const std::int32_t ahead = distance(expected_, bth.psn);
  if (ahead == 0) return connection_.is_xrc_receiver() ? Step::kTarget : Step::kSequence;
  return ahead > 0 ? check_behind_gap(request) : repeat(request);
}

Responder::Step Responder::check_behind_gap(const Request& request) {
  const ib::Psn psn = request.packet.bth.psn;
  if (keeps_packets()) {
    // IRN, 3.1: each request behind a gap is kept, and reported. Where packets may overtake each other, only
    // the first request behind a gap is reported, and none while a NAK has everything sent again.
    kept_.advance(expected_);
    if (!rnr_nak_sent_ && kept_.add(psn)) {
      if (!gap_nak_sent_ && (repeats_selectively() || !kept_.has(psn - 1))) report_gap(psn, request.actions);
      return Step::kWaitForOthers;
    }
  } else if (!gap_nak_sent_ && !rnr_nak_sent_) {
    // IBA 9.7.5.2.8: a gap is reported once, until the missing packet comes.
    gap_nak_sent_ = true;
    report_gap(psn, request.actions);
  }
  request.actions.drop(DropReason::kAfterNak);
  return Step::kDone;
}

Responder::Step Responder::check_target(const Request& request) {
  // IBA A14: every request packet names a shared receive queue of the domain, all of a message the same.
  const Ref<SharedReceiveQueue> named = surroundings_.find_target(request.packet.xrc_srqn);
  const bool changes = message_ != Message::kNone && !request.operation.begins_message;
  if (named.get() == nullptr || (changes && named.get() != surroundings_.target_ref().get())) {
    return refuse(request, NakCode::kInvalidRequest, Refusal::kSharedReceiveQueue);
  }
  surroundings_.set_target(named);
  return Step::kSequence;
}

Responder::Step Responder::check_sequence(const Request& request) {
  // IBA 9.7.4.1.5, table 57: FIRST and ONLY only between messages, MIDDLE and LAST only within one of their
  // kind.
  switch (operation_of(request.packet.bth.opcode)) {
    case ib::Operation::kSendFirst:
    case ib::Operation::kSendMiddle:
    case ib::Operation::kSendLast:
    case ib::Operation::kSendLastImm:
    case ib::Operation::kSendOnly:
    case ib::Operation::kSendOnlyImm:
    case ib::Operation::kSendLastInvalidate:
    case ib::Operation::kSendOnlyInvalidate:
      kind_ = Message::kSend;
      break;
    case ib::Operation::kWriteFirst:
    case ib::Operation::kWriteMiddle:
    case ib::Operation::kWriteLast:
    case ib::Operation::kWriteLastImm:
    case ib::Operation::kWriteOnly:
    case ib::Operation::kWriteOnlyImm:
      kind_ = Message::kWrite;
      break;
    case ib::Operation::kReadRequest:
      kind_ = Message::kRead;
      break;
    case ib::Operation::kCompareSwap:
    case ib::Operation::kFetchAdd:
      kind_ = Message::kAtomic;
      break;
    case ib::Operation::kAtomicWrite:
      kind_ = Message::kAtomicWrite;
      break;
    default:
      return refuse(request, NakCode::kInvalidRequest, Refusal::kOperation);
  }
  const Message expected = request.operation.begins_message ? Message::kNone : kind_;
  if (message_ != expected) return refuse(request, NakCode::kInvalidRequest, Refusal::kSequence);
  return Step::kRights;
}

bool Responder::has_right(Message kind) const {
  const std::uint32_t right = right_of(kind);
  return (connection_.attributes.qp_access_flags & right) == right;
}

Responder::Step Responder::check_rights(const Request& request) {
  // The specification allows invalid request and remote access error; adapters report the latter.
  return has_right(kind_) ? Step::kResources : refuse(request, NakCode::kRemoteAccessError, Refusal::kRight);
}

Responder::Step Responder::check_resources(const Request& request) {
  if (kind_ == Message::kRead || kind_ == Message::kAtomic || kind_ == Message::kAtomicWrite) {
    // IBA 9.7.4.1: more READs and atomics at a time than the responder has resources for are an invalid
    // request.
    if (responses_.resources_in_use() < connection_.attributes.max_dest_rd_atomic) return Step::kLength;
    return refuse(request, NakCode::kInvalidRequest, Refusal::kResponderResources);
  }
  const bool consumes = kind_ == Message::kSend
                            ? request.operation.begins_message
                            : request.operation.ends_message && request.operation.has_immediate;
  return !consumes || current_ ? Step::kLength : Step::kWaitForReceive;
}

Responder::Step Responder::check_length(const Request& request) {
  const std::uint32_t length = request.packet.payload.length;
  const std::uint32_t mtu = connection_.path_mtu();
  const ib::OpcodeInfo& operation = request.operation;
  // IBA 9.7.4.1.6: FIRST and MIDDLE carry exactly one path MTU, LAST 1 to MTU bytes, ONLY 0 to MTU.
  const bool fits =
      operation.ends_message ? length <= mtu && (operation.begins_message || length > 0) : length == mtu;
  if (!fits) return refuse(request, NakCode::kInvalidRequest, {Refusal::kPacketLength, length, mtu});
  if (connection_.is_datagram()) {
    const std::uint64_t bytes = length + std::uint64_t{ib::kGrhBytes};
    if (bytes <= current_->capacity) return before_execution(request);
    return fail_receive(request, WcStatus::kLocalLengthError, NakCode::kInvalidRequest,
                        {Refusal::kReceiveLength, bytes, current_->capacity});
  }
  if (connection_.is_raw()) {
    const std::uint64_t bytes = surroundings_.placed_bytes(request.packet);
    if (bytes <= current_->capacity) return before_execution(request);
    return fail_receive(request, WcStatus::kLocalLengthError, NakCode::kInvalidRequest,
                        {Refusal::kReceiveLength, bytes, current_->capacity});
  }
  if (kind_ == Message::kRead) {
    const bool allowed = length == 0 && request.packet.reth.length <= connection_.profile.max_message_bytes;
    return allowed ? Step::kRemoteKey
                   : refuse(request, NakCode::kInvalidRequest,
                            {Refusal::kMessageLength, request.packet.reth.length, connection_.profile.max_message_bytes});
  }
  const ib::Reth& reth = request.packet.reth;
  if (kind_ == Message::kAtomicWrite) {
    const bool allowed = length == sizeof(std::uint64_t) && reth.length == length && reth.va.value % length == 0;
    return allowed ? Step::kRemoteKey : refuse(request, NakCode::kInvalidRequest, Refusal::kAlignment);
  }
  // IBA 9.4.5: the location is aligned to its size.
  if (kind_ == Message::kAtomic) {
    const bool allowed = length == 0 && request.packet.atomic.va.value % sizeof(std::uint64_t) == 0;
    return allowed ? Step::kRemoteKey : refuse(request, NakCode::kInvalidRequest, Refusal::kAlignment);
  }
  if (kind_ == Message::kSend && received_ + std::uint64_t{length} > current_->capacity) {
    // IBA 9.8.2.2, class D: the receive serves the next message.
    const Refusal why{Refusal::kReceiveLength, received_ + std::uint64_t{length}, current_->capacity};
    if (connection_.is_reliable()) return fail_receive(request, WcStatus::kLocalLengthError, NakCode::kInvalidRequest, why);
    request.actions.diagnose(why);
    return drop_message(request, DropReason::kRefused);
  }
  if (kind_ == Message::kWrite) {
    if (operation.begins_message) {
      reth_ = request.packet.reth;
      if (reth_.length > connection_.profile.max_message_bytes)
        return refuse(request, NakCode::kInvalidRequest,
                      {Refusal::kMessageLength, reth_.length, connection_.profile.max_message_bytes});
    }
    // IBA 9.7.4.1.6: the payload of all packets together is what the RETH announced.
    const std::uint64_t total = received_ + std::uint64_t{length};
    if (total > reth_.length || (operation.ends_message && total != reth_.length)) {
      return refuse(request, NakCode::kInvalidRequest, {Refusal::kAnnouncedLength, total, reth_.length});
    }
  }
  return Step::kRemoteKey;
}

Responder::Step Responder::check_remote_key(const Request& request) {
  // IBA 9.7.4.1.7: a request for no bytes is not checked; the first packet answers for the whole range.
  if (kind_ == Message::kSend) return before_execution(request);
  const ib::AtomicEth& atomic = request.packet.atomic;
  const ib::Reth reth = kind_ == Message::kAtomic ? ib::Reth{atomic.va, atomic.rkey, sizeof(std::uint64_t)}
                        : kind_ == Message::kWrite ? reth_
                                                   : request.packet.reth;
  if (reth.length == 0) return before_execution(request);
  Placement& placement = *request.placement;
  const auto address =
      surroundings_.check_remote(nullptr, reth.rkey.value, reth.va.value, reth.length, right_of(kind_));
  if (!address) {
    const Refusal why(Refusal::kRemoteKey, reth);
    // IBA 11.6.2, Local Access Error: the RDMA WRITE with immediate data has consumed a receive.
    if (kind_ == Message::kWrite && request.operation.has_immediate && current_) {
      return fail_receive(request, WcStatus::kLocalAccessError, NakCode::kRemoteAccessError, why);
    }
    return refuse(request, NakCode::kRemoteAccessError, why);
  }
  placement.address = *address + received_;
  placement.key = reth.rkey.value;
  return before_execution(request);
}

Responder::Step Responder::before_execution(const Request& request) {
  // IBA 9.5: SENDs, WRITEs and atomics take place in message order. READs queue behind the answers of
  // atomics.
  const bool changes_memory = kind_ == Message::kSend || kind_ == Message::kWrite || kind_ == Message::kAtomicWrite;
  if (changes_memory && atomics_ > 0) return Step::kWaitForAtomics;
  Placement& placement = *request.placement;
  if (kind_ == Message::kSend) {
    place_send(request);
  } else if (kind_ == Message::kWrite || kind_ == Message::kAtomicWrite) {
    placement.length = request.packet.payload.length;
  } else if (kind_ == Message::kAtomic) {
    placement.length = sizeof(std::uint64_t);
    placement.is_atomic = true;
  }
  return Step::kExecute;
}

void Responder::place_send(const Request& request) {
  Placement& placement = *request.placement;
  placement.receive = &*current_;
  placement.length = request.packet.payload.length;
  placement.offset = received_;
  if (current_->match != nullptr) [[unlikely]] {
    const std::uint32_t consumed = current_->match->consumed;
    placement.skipped = std::min(consumed - std::min(consumed, received_), placement.length);
    placement.length -= placement.skipped;
    placement.offset = received_ + placement.skipped - consumed;
  }
  if (connection_.is_raw()) placement.length = surroundings_.placed_bytes(request.packet);
  if (!connection_.is_datagram()) return;
  // IBA 11.4.1.2: the first 40 bytes of the buffer are for the GRH; without one they stay as they are.
  if (request.packet.grh) {
    placement.offset = 0;
    placement.length += ib::kGrhBytes;
  } else {
    placement.offset = ib::kGrhBytes;
  }
}

}  // namespace verbatim::hca

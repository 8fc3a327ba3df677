#include "sim/hca/transport/responder.h"

#include <utility>

#include "sim/hca/adapter.h"
#include "sim/hca/memory_window.h"
#include "sim/hca/queues/queue_pair.h"
#include "sim/hca/queues/shared_receive_queue.h"
#include "sim/ib/wire.h"

namespace verbatim::hca {

using ib::NakCode;
using ib::QpState;
using ib::WcStatus;

// The right a queue pair and a memory region must give for a kind of request.
std::uint32_t Responder::right_of(Message kind) {
  switch (kind) {
    case Message::kWrite:
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
  // A shared queue may have got its receives before any queue pair could take them.
  qp_.receives().refill();
}

void Responder::reset() {
  drop_held();
  expected_ = {};
  msn_ = 0;
  nak_sent_ = established_ = false;
  message_ = Message::kNone;
  received_ = 0;
  current_.reset();
  no_receive_ = false;
  atomics_ = 0;  // those under way are of the life before
}

void Responder::drop_held() {
  if (holding_) qp_.adapter.receiver.drop(held_, DropReason::kWrongState);
  holding_ = awaits_atomics_ = false;
  lookup_ = 0;
  while (!behind_.empty()) {
    Incoming incoming = behind_.pop_front();
    qp_.adapter.receiver.drop(incoming, DropReason::kWrongState);
  }
}

void Responder::flush() {
  drop_held();
  if (current_) flush_receive(*current_);
  current_.reset();
  message_ = Message::kNone;
  qp_.want_recv_doorbell(true);
  qp_.own_receives.flush();
}

void Responder::flush_receive(const RecvWork& work) {
  complete_receive(work, WcStatus::kWorkRequestFlushed, nullptr, 0);
}

void Responder::on_no_receive(Instant sampled_at) {
  if (!holding_ || lookup_ != 0 || awaits_atomics_) return;
  if (sampled_at < held_.checked_at) return qp_.receives().await(qp_.self, held_.checked_at);
  no_receive_ = true;
  resume();
}

void Responder::hold(Incoming&& incoming) {
  held_ = std::move(incoming);
  holding_ = true;
}

void Responder::resume() {
  if (!holding_) return;
  holding_ = false;
  Incoming incoming = std::move(held_);
  const bool was_other = looked_up_ || awaits_atomics_;  // than a receive
  awaits_atomics_ = false;
  while (!process(incoming, ib::info(incoming.packet->bth.opcode))) {
    no_receive_ = looked_up_ = false;
    if (behind_.empty()) return;
    incoming = behind_.pop_front();
    if (was_other) incoming.packet->trail.add(qp_.adapter.engine.now(), {qp_.adapter.id, kEarlierPackets});
  }
  no_receive_ = looked_up_ = false;
  hold(std::move(incoming));
}

void Responder::on_looked_up(std::uint64_t number) {
  if (number != lookup_) return;  // it has been dropped meanwhile
  lookup_ = 0;
  looked_up_ = true;
  resume();
}

void Responder::on_atomic_done() {
  if (--atomics_ > 0 || !awaits_atomics_) return;
  held_.packet->trail.add(qp_.adapter.engine.now(), {qp_.adapter.id, "responder: earlier atomics"});
  resume();
}

void Responder::receive(Incoming&& incoming, const ib::OpcodeInfo& operation) {
  if (holding_) {
    behind_.push_back(std::move(incoming));
  } else if (process(incoming, operation)) {
    hold(std::move(incoming));
  }
}

bool Responder::process(Incoming& incoming, const ib::OpcodeInfo& operation) {
  if (!qp_.can_receive()) {
    qp_.adapter.receiver.drop(incoming, DropReason::kWrongState);
    return false;
  }
  Request request{incoming, *incoming.packet, operation};
  incoming.packet->trail.add(qp_.adapter.engine.now(), {qp_.adapter.id, "responder: receive work request"});
  cause_ = incoming.packet->trail;
  const bool waits = take_steps(request);
  cause_ = {};
  return waits;
}

bool Responder::take_steps(Request& request) {
  Step step = qp_.is_datagram() ? begin_datagram(request) : Step::kPsn;
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
      case Step::kLookUp:
        step = look_up(request);
        break;
      case Step::kExecute:
        step = execute(request);
        break;
      case Step::kAcknowledge:
        step = acknowledge(request);
        break;
      case Step::kDone:
        qp_.adapter.receiver.release(request.incoming, qp_.adapter.engine.now());
        return false;
      case Step::kWait:
        return true;
    }
  }
}

Responder::Step Responder::begin_datagram(Request& request) {
  // IBA 9.8.3.1: each datagram is a message of its own, in no order; its Q_Key must be the queue pair's.
  if (request.packet.deth.qkey != qp_.attributes.qkey) {
    qp_.adapter.qkey_violations.count();
    qp_.adapter.receiver.drop(request.incoming, DropReason::kWrongQkey);
    return Step::kDone;
  }
  request.kind = Message::kSend;
  return Step::kResources;
}

Responder::Step Responder::check_psn_unreliable(Request& request) {
  // IBA 9.8.2.2: after a gap the rest of the message is dropped; the next that begins is expected. A receive
  // that the lost message had taken serves the next.
  if (request.packet.bth.psn == expected_ && !request.operation.begins_message) return Step::kSequence;
  message_ = Message::kNone;
  received_ = 0;
  expected_ = request.packet.bth.psn;
  return Step::kSequence;
}

Responder::Step Responder::check_psn(Request& request) {
  if (!qp_.is_reliable()) return check_psn_unreliable(request);
  const ib::Bth& bth = request.packet.bth;
  const std::int32_t ahead = distance(expected_, bth.psn);
  if (ahead == 0) return qp_.is_xrc_receiver() ? Step::kTarget : Step::kSequence;
  if (ahead > 0) {
    // IBA 9.7.5.2.8: a gap is reported once, until the missing packet comes.
    if (!nak_sent_) {
      nak_sent_ = true;
      send_ack(ib::nak_syndrome(NakCode::kPsnSequenceError), expected_);
    }
    qp_.adapter.receiver.drop(request.incoming, DropReason::kAfterNak);
    return Step::kDone;
  }
  return repeat(request);
}

Ref<SharedReceiveQueue> Responder::named_queue(const ib::Packet& packet) const {
  const Ref<SharedReceiveQueue> srq = qp_.adapter.srq_by_number(packet.xrc_srqn);
  return srq.get() != nullptr && srq.get()->params.domain == qp_.params.domain ? srq
                                                                               : Ref<SharedReceiveQueue>();
}

Responder::Step Responder::check_target(Request& request) {
  // IBA A14: every request packet names a shared receive queue of the domain, all of a message the same.
  const Ref<SharedReceiveQueue> named = named_queue(request.packet);
  const bool changes = message_ != Message::kNone && !request.operation.begins_message;
  if (named.get() == nullptr || (changes && named.get() != qp_.target())) {
    return refuse(request, NakCode::kInvalidRequest);
  }
  qp_.set_target(named);
  return Step::kSequence;
}

Responder::Step Responder::check_sequence(Request& request) {
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
      request.kind = Message::kSend;
      break;
    case ib::Operation::kWriteFirst:
    case ib::Operation::kWriteMiddle:
    case ib::Operation::kWriteLast:
    case ib::Operation::kWriteLastImm:
    case ib::Operation::kWriteOnly:
    case ib::Operation::kWriteOnlyImm:
      request.kind = Message::kWrite;
      break;
    case ib::Operation::kReadRequest:
      request.kind = Message::kRead;
      break;
    case ib::Operation::kCompareSwap:
    case ib::Operation::kFetchAdd:
      request.kind = Message::kAtomic;
      break;
    default:
      return refuse(request, NakCode::kInvalidRequest);
  }
  const Message expected = request.operation.begins_message ? Message::kNone : request.kind;
  if (message_ != expected) return refuse(request, NakCode::kInvalidRequest);
  return Step::kRights;
}

bool Responder::has_right(Message kind) const {
  const std::uint32_t right = right_of(kind);
  return (qp_.attributes.qp_access_flags & right) == right;
}

Responder::Step Responder::check_rights(Request& request) {
  // The specification leaves invalid request and remote access error; adapters say the latter.
  return has_right(request.kind) ? Step::kResources : refuse(request, NakCode::kRemoteAccessError);
}

Responder::Step Responder::check_resources(Request& request) {
  if (request.kind == Message::kRead || request.kind == Message::kAtomic) {
    // IBA 9.7.4.1: more READs and atomics at a time than the responder has resources for are an invalid
    // request.
    if (qp_.responses.resources_in_use() < qp_.attributes.max_dest_rd_atomic) return Step::kLength;
    return refuse(request, NakCode::kInvalidRequest);
  }
  const bool consumes = request.kind == Message::kSend
                            ? request.operation.begins_message
                            : request.operation.ends_message && request.operation.has_immediate;
  if (!consumes || current_) return Step::kLength;
  if (qp_.receives().has_failed()) return fail_with_queue(request);
  current_ = qp_.receives().take();
  if (current_) {
    if (current_->malformed) {
      return fail_receive(request, WcStatus::kLocalQpOperationError, NakCode::kRemoteOperationalError);
    }
    return Step::kLength;
  }
  if (!no_receive_ && qp_.receives().entries() > 0) {
    qp_.receives().await(qp_.self, request.incoming.checked_at);
    return Step::kWait;
  }
  if (!qp_.is_reliable()) return drop_message(request, DropReason::kNoReceive);
  // IBA 9.7.5.2.8: receiver not ready; the requester waits and sends the same PSN again. What it has sent
  // behind it is not reported as a gap.
  nak_sent_ = true;
  send_ack(ib::rnr_nak_syndrome(qp_.attributes.min_rnr_timer), expected_);
  qp_.adapter.receiver.drop(request.incoming, DropReason::kAfterNak);
  return Step::kDone;
}

Responder::Step Responder::check_length(Request& request) {
  const std::uint32_t length = request.packet.payload.length;
  const std::uint32_t mtu = qp_.path_mtu();
  const ib::OpcodeInfo& operation = request.operation;
  // IBA 9.7.4.1.6: FIRST and MIDDLE carry exactly one path MTU, LAST 1 to MTU bytes, ONLY 0 to MTU.
  const bool fits =
      operation.ends_message ? length <= mtu && (operation.begins_message || length > 0) : length == mtu;
  if (!fits) return refuse(request, NakCode::kInvalidRequest);
  if (qp_.is_datagram()) {
    if (length + std::uint64_t{ib::kGrhBytes} <= current_->capacity) return before_execution(request);
    return fail_receive(request, WcStatus::kLocalLengthError, NakCode::kInvalidRequest);
  }
  if (request.kind == Message::kRead) {
    const bool allowed = length == 0 && request.packet.reth.length <= qp_.adapter.profile.max_message_bytes;
    return allowed ? Step::kRemoteKey : refuse(request, NakCode::kInvalidRequest);
  }
  // IBA 9.4.5: the location is aligned to its size.
  if (request.kind == Message::kAtomic) {
    const bool allowed = length == 0 && request.packet.atomic.va.value % sizeof(std::uint64_t) == 0;
    return allowed ? Step::kRemoteKey : refuse(request, NakCode::kInvalidRequest);
  }
  if (request.kind == Message::kSend && received_ + std::uint64_t{length} > current_->capacity) {
    // IBA 9.8.2.2, class D: the receive serves the next message.
    if (!qp_.is_reliable()) return drop_message(request, DropReason::kRefused);
    return fail_receive(request, WcStatus::kLocalLengthError, NakCode::kInvalidRequest);
  }
  if (request.kind == Message::kWrite) {
    if (operation.begins_message) {
      reth_ = request.packet.reth;
      if (reth_.length > qp_.adapter.profile.max_message_bytes)
        return refuse(request, NakCode::kInvalidRequest);
    }
    // IBA 9.7.4.1.6: the payload of all packets together is what the RETH announced.
    const std::uint64_t total = received_ + std::uint64_t{length};
    if (total > reth_.length || (operation.ends_message && total != reth_.length)) {
      return refuse(request, NakCode::kInvalidRequest);
    }
  }
  return Step::kRemoteKey;
}

Responder::Step Responder::check_remote_key(Request& request) {
  // IBA 9.7.4.1.7: a request for no bytes is not checked; the first packet answers for the whole range.
  if (request.kind == Message::kSend) return before_execution(request);
  const ib::AtomicEth& atomic = request.packet.atomic;
  const ib::Reth reth = request.kind == Message::kAtomic
                            ? ib::Reth{atomic.va, atomic.rkey, sizeof(std::uint64_t)}
                        : request.kind == Message::kRead ? request.packet.reth
                                                         : reth_;
  if (reth.length == 0) return before_execution(request);
  const KeyCheck key = qp_.adapter.keys.check_remote(reth.rkey.value, qp_, reth.va.value, reth.length,
                                                     right_of(request.kind));
  if (key.region == nullptr) return refuse(request, NakCode::kRemoteAccessError);
  request.address = key.address + received_;
  return before_execution(request);
}

Responder::Step Responder::before_execution(const Request& request) {
  // IBA 9.5: SENDs, WRITEs and atomics take place in message order. READs queue behind what atomics answer.
  const bool changes_memory = request.kind == Message::kSend || request.kind == Message::kWrite;
  if (changes_memory && atomics_ > 0) {
    awaits_atomics_ = true;
    return Step::kWait;
  }
  return qp_.adapter.placements.is_limited() ? Step::kLookUp : Step::kExecute;
}

Responder::Step Responder::look_up(Request& request) {
  if (looked_up_) return Step::kExecute;
  const std::uint32_t length = request.packet.payload.length;
  std::vector<MemoryPiece>& pieces = qp_.adapter.scratch_pieces;
  pieces.clear();
  if (request.kind == Message::kAtomic) {
    pieces.push_back({request.address, sizeof(std::uint64_t), request.packet.atomic.rkey.value});
  } else if (request.kind == Message::kWrite && length > 0) {
    pieces.push_back({request.address, length, reth_.rkey.value});
  } else if (request.kind == Message::kSend) {
    // IBA 11.4.1.2: a datagram's GRH goes before it.
    const bool has_grh = qp_.is_datagram() && request.packet.grh;
    const std::uint64_t offset = !qp_.is_datagram() ? received_ : has_grh ? 0 : ib::kGrhBytes;
    qp_.find_pieces(current_->sges, offset, length + (has_grh ? ib::kGrhBytes : 0), qp_.memory_owner(),
                    qp_.receive_pd());
  }
  lookup_ = qp_.adapter.placements.begin(qp_.self, false, pieces, request.incoming.packet->trail.shared());
  return lookup_ == 0 ? Step::kExecute : Step::kWait;
}

void Responder::place_write(Request& request) {
  const std::uint32_t length = request.packet.payload.length;
  if (length == 0) return;
  const MemoryPiece piece{request.address, length, reth_.rkey.value};
  const auto times =
      qp_.adapter.payloads.write(qp_.memory_owner(), request.packet.payload, {&piece, 1}, stream());
  qp_.adapter.receiver.release(request.incoming, times.left_adapter);
}

MessageStream Responder::stream() const { return message_stream(qp_.number, false); }

Responder::Step Responder::execute(Request& request) {
  if (request.operation.begins_message) qp_.adapter.payloads.release_held();
  if (qp_.is_datagram()) return execute_datagram(request);
  if (request.kind == Message::kSend &&
      !qp_.scatter(current_->sges, received_, request.packet.payload, request.incoming, qp_.memory_owner(),
                   qp_.receive_pd(), stream())) {
    return fail_receive(request, WcStatus::kLocalProtectionError, NakCode::kRemoteOperationalError);
  }
  if (request.operation.has_invalidate &&
      !invalidate_window(qp_.adapter, qp_, request.packet.invalidate_rkey)) {
    return fail_receive(request, WcStatus::kLocalProtectionError, NakCode::kRemoteAccessError);
  }
  if (request.kind == Message::kWrite) place_write(request);
  if (!established_) {
    established_ = true;
    if (qp_.state() == QpState::kRtr) qp_.raise(ib::AsyncEventType::kCommunicationEstablished);
  }
  nak_sent_ = false;
  if (request.kind == Message::kRead) return execute_read(request);
  if (request.kind == Message::kAtomic) return execute_atomic(request);
  expected_ = expected_ + 1;
  received_ += request.packet.payload.length;
  message_ = request.kind;
  if (request.operation.ends_message) {
    msn_ = (msn_ + 1) & 0xffffff;
    if (current_ && (request.kind == Message::kSend || request.operation.has_immediate)) {
      complete_receive(*current_, WcStatus::kSuccess, &request.packet, received_);
      current_.reset();
    }
    message_ = Message::kNone;
    received_ = 0;
  }
  return Step::kAcknowledge;
}

Responder::Step Responder::acknowledge(Request& request) {
  // IBA 9.7.5.1.2: an acknowledgement may cover several requests; this adapter sends one per request for it.
  if (request.packet.bth.ack_request) {
    send_ack(acknowledgement().syndrome, request.packet.bth.psn);
  }
  return Step::kDone;
}

}  // namespace verbatim::hca

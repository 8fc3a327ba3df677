#include "sim/hca/responder.h"

#include <utility>

#include "sim/hca/adapter.h"
#include "sim/hca/queue_pair.h"
#include "sim/ib/segmentation.h"

namespace verbatim::hca {

using ib::NakCode;
using ib::QpState;
using ib::WcStatus;

namespace {

constexpr std::uint32_t kRemoteRights = ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic;

}  // namespace

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
  refill();
}

void Responder::reset() {
  drop_held();
  expected_ = {};
  msn_ = 0;
  nak_sent_ = established_ = false;
  message_ = Message::kNone;
  received_ = 0;
  current_.reset();
  cache_ = {};
  fetching_ = 0;
  record_fetching_ = false;
  no_receive_ = false;
}

void Responder::drop_held() {
  if (holding_) qp_.adapter.receiver.drop(held_, DropReason::kWrongState);
  holding_ = false;
  while (!behind_.empty()) {
    Incoming incoming = behind_.pop_front();
    qp_.adapter.receiver.drop(incoming, DropReason::kWrongState);
  }
}

void Responder::flush() {
  drop_held();
  if (current_) complete_receive(*current_, WcStatus::kWorkRequestFlushed, nullptr, 0);
  current_.reset();
  message_ = Message::kNone;
  while (!cache_.empty()) complete_receive(cache_.pop_front(), WcStatus::kWorkRequestFlushed, nullptr, 0);
  qp_.want_recv_doorbell(true);
  refill();
}

// ---- receive work requests
// -------------------------------------------------------------------------------------

void Responder::refill() {
  if (qp_.recv_queue.entries() == 0) return;
  const std::uint32_t prefetch = qp_.adapter.profile.wqe_prefetch;
  const std::uint32_t have = static_cast<std::uint32_t>(cache_.size()) + fetching_;
  if (have < prefetch && qp_.recv_queue.to_fetch() > 0) {
    const std::uint32_t count = qp_.recv_queue.run_length(prefetch);
    qp_.adapter.fetcher.fetch_recv(qp_, qp_.recv_queue.fetched(), count);
    qp_.recv_queue.fetch(count);
    fetching_ += count;
  }
  // No doorbell tells of new receives: the record is read again before the adapter runs out.
  if (cache_.size() + fetching_ + qp_.recv_queue.to_fetch() < prefetch) fetch_record();
}

void Responder::fetch_record() {
  if (record_fetching_ || qp_.recv_queue.entries() == 0) return;
  record_fetching_ = true;
  qp_.adapter.fetcher.fetch_recv_record(qp_);
}

void Responder::on_record(std::uint32_t producer, Instant sampled_at) {
  record_fetching_ = false;
  const auto announcement = qp_.recv_queue.announce(producer);
  if (announcement == WorkQueue::Announcement::kImpossible) return qp_.fail_fatally();
  if (announcement == WorkQueue::Announcement::kNew) refill();
  if (!holding_ || !cache_.empty() || fetching_ > 0) return;
  // A receive posted before the packet came must be found; one posted later need not be.
  if (sampled_at < held_.checked_at) return fetch_record();
  no_receive_ = true;
  resume();
}

void Responder::on_work(RecvWork work) {
  --fetching_;
  if (qp_.state() == QpState::kErr) {
    complete_receive(work, WcStatus::kWorkRequestFlushed, nullptr, 0);
    if (fetching_ == 0) refill();
    return;
  }
  cache_.push_back(std::move(work));
  resume();
}

void Responder::on_doorbell(std::uint32_t producer) {
  if (qp_.state() != QpState::kErr) return;
  if (qp_.recv_queue.announce(producer) == WorkQueue::Announcement::kNew) refill();
}

void Responder::hold(Incoming incoming) {
  held_ = std::move(incoming);
  holding_ = true;
}

void Responder::resume() {
  if (!holding_) return;
  holding_ = false;
  Incoming incoming = std::move(held_);
  while (!process(incoming, ib::info(incoming.packet->bth.opcode))) {
    no_receive_ = false;
    if (behind_.empty()) return;
    incoming = behind_.pop_front();
  }
  no_receive_ = false;
  hold(std::move(incoming));
}

// ---- requests
// --------------------------------------------------------------------------------------------------

void Responder::receive(Incoming incoming, const ib::OpcodeInfo& operation) {
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
  Step step = Step::kPsn;
  while (true) {
    switch (step) {
      case Step::kPsn:
        step = check_psn(request);
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
      case Step::kExecute:
        step = execute(request);
        break;
      case Step::kAcknowledge:
        step = acknowledge(request);
        break;
      case Step::kDone:
        qp_.adapter.receiver.release(incoming, qp_.adapter.engine.now());
        return false;
      case Step::kWait:
        return true;
    }
  }
}

Responder::Step Responder::check_psn(Request& request) {
  const ib::Bth& bth = request.packet.bth;
  const std::int32_t ahead = distance(expected_, bth.psn);
  if (ahead == 0) return Step::kSequence;
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

Responder::Step Responder::repeat(Request& request) {
  const ib::Packet& packet = request.packet;
  qp_.adapter.tracer.record(qp_.adapter.id, TraceEvent::kDuplicate, qp_.number, packet.bth.psn.value,
                            static_cast<std::uint64_t>(packet.bth.opcode));
  switch (operation_of(packet.bth.opcode)) {
    case ib::Operation::kReadRequest:
      return repeat_read(request);
    case ib::Operation::kCompareSwap:
    case ib::Operation::kFetchAdd:
      qp_.responses.discard_from(packet.bth.psn);
      if (!qp_.responses.repeat_atomic(packet.bth.psn, msn_)) {
        qp_.adapter.receiver.drop(request.incoming, DropReason::kUnknownDuplicate);
      }
      return Step::kDone;
    default:
      // IBA 9.7.5.1.4: a duplicate SEND or WRITE is not executed again; the newest acknowledgement answers
      // it.
      if (packet.bth.ack_request) send_ack(ib::ack_syndrome(ib::kUnlimitedCredits), expected_ - 1);
      return Step::kDone;
  }
}

Responder::Step Responder::repeat_read(Request& request) {
  const ib::Packet& packet = request.packet;
  // A READ is executed again, from memory as it is now, when it lies within what has been executed. Its
  // requester has given up what is still owed from there on.
  request.kind = Message::kRead;
  const std::uint32_t psns = ib::packet_count(packet.reth.length, qp_.path_mtu());
  if (packet.reth.length > qp_.adapter.profile.max_message_bytes ||
      distance(packet.bth.psn + psns, expected_) < 0) {
    qp_.adapter.receiver.drop(request.incoming, DropReason::kUnknownDuplicate);
    return Step::kDone;
  }
  qp_.responses.discard_from(packet.bth.psn);
  if (check_remote_key(request) == Step::kDone) return Step::kDone;
  qp_.responses.add_read(packet.bth.psn, packet.reth, msn_, true);
  return Step::kDone;
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

Responder::Step Responder::check_rights(Request& request) {
  // The specification leaves invalid request and remote access error; adapters say the latter.
  const std::uint32_t right = right_of(request.kind);
  if ((qp_.attributes.qp_access_flags & right) != right) {
    return refuse(request, NakCode::kRemoteAccessError);
  }
  return Step::kResources;
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
  if (!cache_.empty()) {
    current_ = cache_.pop_front();
    refill();
    if (current_->malformed) {
      return fail_receive(request, WcStatus::kLocalQpOperationError, NakCode::kRemoteOperationalError);
    }
    return Step::kLength;
  }
  if (!no_receive_ && qp_.recv_queue.entries() > 0) {
    refill();
    return Step::kWait;
  }
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
  if (request.kind == Message::kSend) return Step::kExecute;
  const ib::AtomicEth& atomic = request.packet.atomic;
  const ib::Reth reth = request.kind == Message::kAtomic
                            ? ib::Reth{atomic.va, atomic.rkey, sizeof(std::uint64_t)}
                        : request.kind == Message::kRead ? request.packet.reth
                                                         : reth_;
  if (reth.length == 0) return Step::kExecute;
  const KeyCheck key = qp_.adapter.keys.check(reth.rkey.value, qp_.context, qp_.params.pd, reth.va.value,
                                              reth.length, right_of(request.kind));
  if (key.region == nullptr) return refuse(request, NakCode::kRemoteAccessError);
  request.address = key.address + received_;
  return Step::kExecute;
}

void Responder::place_write(Request& request) {
  const std::uint32_t length = request.packet.payload.length;
  if (length == 0) return;
  const MemoryPiece piece{request.address, length, reth_.rkey.value};
  const auto times = qp_.adapter.payloads.write(qp_.context, request.packet.payload, {&piece, 1});
  qp_.adapter.receiver.release(request.incoming, times.left_adapter);
}

Responder::Step Responder::execute(Request& request) {
  if (request.kind == Message::kSend &&
      !qp_.scatter(current_->sges, received_, request.packet.payload, request.incoming)) {
    return fail_receive(request, WcStatus::kLocalProtectionError, NakCode::kRemoteOperationalError);
  }
  if (request.operation.has_invalidate && !invalidate(request.packet.invalidate_rkey)) {
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
    if (current_) {
      complete_receive(*current_, WcStatus::kSuccess, &request.packet, received_);
      current_.reset();
    }
    message_ = Message::kNone;
    received_ = 0;
  }
  return Step::kAcknowledge;
}

Responder::Step Responder::execute_read(Request& request) {
  const ib::Packet& packet = request.packet;
  // IBA 9.7.2: the response takes the PSNs from the request's on.
  expected_ = expected_ + ib::packet_count(packet.reth.length, qp_.path_mtu());
  msn_ = (msn_ + 1) & 0xffffff;
  qp_.responses.add_read(packet.bth.psn, packet.reth, msn_, false);
  return Step::kDone;
}

Responder::Step Responder::execute_atomic(Request& request) {
  const ib::Packet& packet = request.packet;
  expected_ = expected_ + 1;
  msn_ = (msn_ + 1) & 0xffffff;
  qp_.responses.add_atomic(packet.bth.psn, msn_);
  AtomicRequest atomic;
  atomic.is_compare_swap = operation_of(packet.bth.opcode) == ib::Operation::kCompareSwap;
  atomic.swap_add = packet.atomic.swap_add;
  atomic.compare = packet.atomic.compare;
  atomic.address = request.address;
  atomic.key = packet.atomic.rkey.value;
  atomic.psn = packet.bth.psn;
  qp_.adapter.atomics.execute(qp_, atomic);
  return Step::kDone;
}

bool Responder::invalidate(std::uint32_t rkey) {
  MemoryRegion* region = qp_.adapter.keys.find(rkey);
  if (region == nullptr || region->context != &qp_.context || region->pd != qp_.params.pd) return false;
  if ((region->access & kRemoteRights) == 0 || region->is_invalidated) return false;
  region->is_invalidated = true;
  return true;
}

Responder::Step Responder::acknowledge(Request& request) {
  // IBA 9.7.5.1.2: an acknowledgement may cover several requests; this adapter sends one per request for it.
  if (request.packet.bth.ack_request) {
    send_ack(ib::ack_syndrome(ib::kUnlimitedCredits), request.packet.bth.psn);
  }
  return Step::kDone;
}

// ---- errors and answers
// ----------------------------------------------------------------------------------------

Responder::Step Responder::refuse(Request& request, NakCode code) {
  send_ack(ib::nak_syndrome(code), request.packet.bth.psn);
  qp_.raise(code == NakCode::kRemoteAccessError ? ib::AsyncEventType::kQpAccessError
                                                : ib::AsyncEventType::kQpRequestError);
  qp_.adapter.receiver.release(request.incoming, qp_.adapter.engine.now());
  qp_.responses.close();
  qp_.enter_error();
  return Step::kDone;
}

Responder::Step Responder::fail_receive(Request& request, WcStatus status, NakCode code) {
  send_ack(ib::nak_syndrome(code), request.packet.bth.psn);
  complete_receive(*current_, status, nullptr, 0);
  current_.reset();
  qp_.adapter.receiver.release(request.incoming, qp_.adapter.engine.now());
  qp_.responses.close();
  qp_.enter_error();
  return Step::kDone;
}

void Responder::send_ack(std::uint8_t syndrome, ib::Psn psn) {
  if (!qp_.responses.is_idle()) return qp_.responses.add_acknowledgement(psn, {syndrome, msn_});
  ib::PacketPtr packet = qp_.make_packet(make_opcode(ib::Transport::kRc, ib::Operation::kAcknowledge), psn);
  packet->aeth = {syndrome, msn_};
  qp_.adapter.sender.acknowledge(std::move(packet), qp_.self);
}

void Responder::complete_receive(const RecvWork& work, WcStatus status, const ib::Packet* packet,
                                 std::uint32_t bytes) {
  protocol::Cqe entry = qp_.make_completion(work.wr_id, status);
  entry.opcode = static_cast<std::uint8_t>(ib::WcOpcode::kReceive);
  entry.wqe_counter = work.number;
  entry.is_receive = 1;
  bool solicited = false;
  if (packet != nullptr) {
    const ib::OpcodeInfo& operation = ib::info(packet->bth.opcode);
    entry.byte_length = bytes;
    if (operation.has_reth || message_ == Message::kWrite) {
      entry.opcode = static_cast<std::uint8_t>(ib::WcOpcode::kReceiveRdmaWithImm);
    }
    if (operation.has_immediate) {
      entry.immediate = packet->immediate;
      entry.flags |= ib::kWcWithImm;
    }
    entry.source_qp = qp_.attributes.dest_qp_num;
    entry.source_lid = packet->lrh.source.value;
    entry.service_level = packet->lrh.service_level.value;
    if (operation.has_invalidate) {
      entry.immediate = packet->invalidate_rkey;
      entry.flags |= ib::kWcWithInvalidate;
    }
    solicited = packet->bth.solicited;
  }
  qp_.recv_queue.retire();
  qp_.adapter.completions.push(qp_.params.recv_cq, entry, solicited);
}

}  // namespace verbatim::hca

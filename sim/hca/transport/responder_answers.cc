// What a responder does with a request it has accepted or refused: READs and atomics, what is repeated,
// answers and completions.
#include <cstring>
#include <utility>

#include "sim/hca/adapter.h"
#include "sim/hca/queues/queue_pair.h"
#include "sim/hca/queues/shared_receive_queue.h"
#include "sim/hca/transport/responder.h"
#include "sim/ib/segmentation.h"
#include "sim/ib/wire.h"

namespace verbatim::hca {

using ib::NakCode;
using ib::WcStatus;

Responder::Step Responder::execute_read(Request& request) {
  const ib::Packet& packet = request.packet;
  // IBA 9.7.2: the response takes the PSNs from the request's on.
  expected_ = expected_ + ib::packet_count(packet.reth.length, qp_.path_mtu());
  msn_ = (msn_ + 1) & 0xffffff;
  qp_.responses.add_read(packet.bth.psn, packet.reth, acknowledgement(), false);
  return Step::kDone;
}

Responder::Step Responder::execute_atomic(Request& request) {
  const ib::Packet& packet = request.packet;
  expected_ = expected_ + 1;
  msn_ = (msn_ + 1) & 0xffffff;
  qp_.responses.add_atomic(packet.bth.psn, acknowledgement());
  AtomicRequest atomic;
  atomic.is_compare_swap = operation_of(packet.bth.opcode) == ib::Operation::kCompareSwap;
  atomic.swap_add = packet.atomic.swap_add;
  atomic.compare = packet.atomic.compare;
  atomic.address = request.address;
  atomic.key = packet.atomic.rkey.value;
  atomic.psn = packet.bth.psn;
  atomic.trail = cause_;
  ++atomics_;
  qp_.adapter.atomics.execute(qp_, qp_.memory_owner(), atomic);
  return Step::kDone;
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
      if (!qp_.responses.repeat_atomic(packet.bth.psn, acknowledgement())) {
        qp_.adapter.receiver.drop(request.incoming, DropReason::kUnknownDuplicate);
      }
      return Step::kDone;
    default:
      // IBA 9.7.5.1.4: a duplicate SEND or WRITE is not executed again; the newest acknowledgement answers
      // it.
      if (packet.bth.ack_request) send_ack(acknowledgement().syndrome, expected_ - 1);
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
  if (!has_right(request.kind)) return refuse(request, NakCode::kRemoteAccessError);
  // The message being received, if any, keeps its own queue.
  const TargetScope scope(qp_, named_queue(packet));
  if (check_remote_key(request) == Step::kDone) return Step::kDone;
  qp_.responses.add_read(packet.bth.psn, packet.reth, acknowledgement(), true);
  return Step::kDone;
}

Responder::Step Responder::execute_datagram(Request& request) {
  const ib::Packet& packet = request.packet;
  // IBA 11.4.1.2: the first 40 bytes of the buffer are for the GRH; without one they stay as they are.
  std::uint64_t offset = ib::kGrhBytes;
  ib::Payload payload = packet.payload;
  if (packet.grh) {
    const std::span<const std::byte> data = payload.bytes();
    ib::PayloadBuffer buffer = ib::PayloadBuffer::allocate(ib::kGrhBytes + payload.length);
    const std::span<std::byte> to = buffer.fill();
    ib::write_grh(packet, to.first<ib::kGrhBytes>());
    if (!data.empty()) std::memcpy(&to[ib::kGrhBytes], data.data(), data.size());
    payload = {buffer, 0, buffer.size()};
    offset = 0;
  }
  if (!qp_.scatter(current_->sges, offset, payload, request.incoming, qp_.memory_owner(), qp_.receive_pd(),
                   stream())) {
    return fail_receive(request, WcStatus::kLocalProtectionError, NakCode::kRemoteOperationalError);
  }
  complete_receive(*current_, WcStatus::kSuccess, &packet, ib::kGrhBytes + packet.payload.length);
  current_.reset();
  return Step::kDone;
}

Responder::Step Responder::drop_message(Request& request, DropReason reason) {
  // IBA 9.8.2.2: what is wrong with an unreliable message is nobody's error; the message is as if never sent.
  message_ = Message::kNone;
  received_ = 0;
  expected_ = request.packet.bth.psn + 1;
  qp_.adapter.receiver.drop(request.incoming, reason);
  return Step::kDone;
}

Responder::Step Responder::refuse(Request& request, NakCode code) {
  if (!qp_.is_reliable()) return drop_message(request, DropReason::kRefused);
  send_ack(ib::nak_syndrome(code), request.packet.bth.psn);
  qp_.raise(code == NakCode::kRemoteAccessError ? ib::AsyncEventType::kQpAccessError
                                                : ib::AsyncEventType::kQpRequestError);
  qp_.adapter.receiver.release(request.incoming, qp_.adapter.engine.now());
  qp_.responses.close();
  qp_.enter_error();
  return Step::kDone;
}

Responder::Step Responder::fail_receive(Request& request, WcStatus status, NakCode code) {
  if (qp_.is_reliable()) send_ack(ib::nak_syndrome(code), request.packet.bth.psn);
  complete_receive(*current_, status, nullptr, 0);
  current_.reset();
  qp_.adapter.receiver.release(request.incoming, qp_.adapter.engine.now());
  qp_.responses.close();
  qp_.enter_error();
  return Step::kDone;
}

Responder::Step Responder::fail_with_queue(Request& request) {
  // IBA 9.9.3: an error of the responder's own side that no completion can tell of.
  if (qp_.is_reliable()) send_ack(ib::nak_syndrome(NakCode::kRemoteOperationalError), request.packet.bth.psn);
  qp_.adapter.receiver.release(request.incoming, qp_.adapter.engine.now());
  qp_.responses.close();
  qp_.fail_fatally();
  return Step::kDone;
}

ib::Aeth Responder::acknowledgement() const {
  std::uint8_t credits = ib::kUnlimitedCredits;
  // IBA 9.7.7.2.5: a shared queue's receives are promised to nobody. That of a message under way has been
  // taken, but is not counted in the MSN yet.
  if (qp_.adapter.profile.end_to_end_credits && qp_.params.type == ib::QpType::kRc &&
      qp_.target() == nullptr) {
    credits = ib::credit_code(qp_.own_receives.unused() + (current_ ? 1 : 0));
  }
  return {ib::ack_syndrome(credits), msn_};
}

void Responder::send_ack(std::uint8_t syndrome, ib::Psn psn) {
  if (!qp_.responses.is_idle()) return qp_.responses.add_acknowledgement(psn, {syndrome, msn_});
  ib::PacketPtr packet = qp_.make_packet(make_opcode(qp_.transport(), ib::Operation::kAcknowledge), psn);
  packet->aeth = {syndrome, msn_};
  packet->trail = cause_;
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
    entry.source_qp = qp_.is_datagram() ? packet->deth.source.value : qp_.attributes.dest_qp_num;
    // A connected queue pair's peer is known; the flag is a datagram's (facts/verbs_semantics.md).
    if (qp_.is_datagram() && packet->grh) entry.flags |= ib::kWcGrh;
    entry.source_lid = packet->lrh.source.value;
    entry.service_level = packet->lrh.service_level.value;
    if (operation.has_invalidate) {
      entry.immediate = packet->invalidate_rkey;
      entry.flags |= ib::kWcWithInvalidate;
    }
    solicited = packet->bth.solicited;
  }
  if (qp_.target() != nullptr) entry.srq_number = qp_.target()->params.number;
  qp_.receives().retire();
  // What is flushed is nobody's message.
  qp_.adapter.completions.push(qp_.receive_cq(), entry, solicited, packet != nullptr ? cause_ : Trail());
}

}  // namespace verbatim::hca

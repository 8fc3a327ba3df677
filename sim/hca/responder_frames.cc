// What a queue pair or work queue does with the Ethernet frames that flow rules give it: where their bytes land, and how
// long one waits for a receive.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "sim/hca/adapter.h"
#include "sim/hca/queue_pair.h"
#include "sim/ib/bytes.h"
#include "sim/ib/frame.h"

namespace verbatim::hca {

using ib::NakCode;
using ib::WcStatus;

namespace {

constexpr std::size_t kTagAt = 12;  // behind the two addresses

// The outermost VLAN tag of a frame that is to lose it.
std::optional<std::uint16_t> tag_to_strip(const ib::Packet& frame, std::uint32_t options) {
  return (options & kStripVlan) != 0 ? ib::parse_frame(frame.payload.bytes()).outer.vlan : std::nullopt;
}

}  // namespace

void QueuePair::receive_frame(Incoming&& incoming) {
  if (!is_raw() || !can_receive()) return adapter.receiver.drop(incoming, DropReason::kWrongState);
  responder.receive(std::move(incoming), ib::info(incoming.packet->bth.opcode));
}

ib::PacketPtr QueuePair::make_frame(ib::Psn number) const {
  ib::PacketPtr packet = ib::make_frame();
  packet->bth.psn = number;
  return packet;
}

void QueuePair::move_work_queue(ib::QpState to) {
  if (to == ib::QpState::kErr) return enter_error();
  if (to == state_) return;
  set_state(to);
  if (to == ib::QpState::kReset) return reset();
  responder.start({});
}

std::uint32_t Responder::placed_bytes(const ib::Packet& frame) const {
  const std::uint32_t tag = tag_to_strip(frame, qp_.frame_options) ? ib::kVlanTagBytes : 0;
  const std::uint32_t check = (qp_.frame_options & kScatterFrameCheck) != 0 ? ib::kFrameCheckBytes : 0;
  return frame.payload.length - tag + check;
}

Responder::Step Responder::execute_frame(Request& request) {
  const ib::Packet& packet = request.packet;
  const std::optional<std::uint16_t> tag = tag_to_strip(packet, qp_.frame_options);
  const std::uint32_t length = placed_bytes(packet);
  ib::Payload payload = packet.payload;
  // Writes that end within a cache line are filled up to its end, as far as the receive has room there.
  std::uint32_t padding = 0;
  if ((qp_.frame_options & kPadWrites) != 0 && length > 0 &&
      qp_.find_pieces(current_->sges, length - 1, 1, qp_.memory_owner(), qp_.receive_pd())) {
    const std::uint64_t line = qp_.adapter.profile.cache_line_bytes;
    const std::uint64_t end = qp_.adapter.scratch_pieces.back().address + 1;
    padding = static_cast<std::uint32_t>(std::min<std::uint64_t>((line - end % line) % line, room_behind(length)));
  }
  if (length + padding != payload.length || tag) {
    const std::span<const std::byte> bytes = packet.payload.bytes();
    ib::PayloadBuffer buffer = ib::PayloadBuffer::allocate(length + padding);
    const std::span<std::byte> to = buffer.fill();
    std::memset(to.data(), 0, to.size());
    const std::size_t cut = tag ? ib::kVlanTagBytes : 0;
    const std::size_t body = bytes.size() - cut - kTagAt;
    std::memcpy(to.data(), bytes.data(), kTagAt);
    std::memcpy(&to[kTagAt], &bytes[kTagAt + cut], body);
    if ((qp_.frame_options & kScatterFrameCheck) != 0) {
      ib::put_frame_check(bytes, to.subspan(kTagAt + body).first<ib::kFrameCheckBytes>());
    }
    payload = {buffer, 0, buffer.size()};
  }
  if (!qp_.scatter(current_->sges, 0, payload, request.incoming, qp_.memory_owner(), qp_.receive_pd(), stream())) {
    return fail_receive(request, WcStatus::kLocalProtectionError, NakCode::kRemoteOperationalError);
  }
  protocol::Cqe entry = qp_.make_completion(current_->wr_id, WcStatus::kSuccess);
  entry.opcode = static_cast<std::uint8_t>(ib::WcOpcode::kReceive);
  entry.wqe_counter = current_->number;
  entry.is_receive = 1;
  entry.is_frame = 1;
  entry.byte_length = length;
  entry.immediate = request.incoming.flow_tag;
  entry.source_lid = tag.value_or(0);
  if (delays_drop_) qp_.want_recv_doorbell(delays_drop_ = false);
  qp_.receives().retire();
  qp_.adapter.completions.push(qp_.receive_cq(), entry, false, cause_);
  current_.reset();
  return Step::kDone;
}

std::uint64_t Responder::room_behind(std::uint32_t length) const {
  std::uint64_t room = 0;
  current_->sges.visit(length - 1, 1, [&](const protocol::Sge& sge, std::uint32_t skip, std::uint32_t) {
    room = sge.length - skip - 1;
    return true;
  });
  return room;
}

Responder::Step Responder::delay_drop(Request& request) {
  const Instant now = qp_.adapter.engine.now();
  const Instant deadline = request.incoming.checked_at + qp_.adapter.profile.delay_drop_timeout;
  if (now >= deadline) {
    qp_.want_recv_doorbell(delays_drop_ = false);
    return drop_message(request, DropReason::kNoReceive);
  }
  if (!delays_drop_) {
    // What was posted after the record had been read and before the program saw the wish is found by another look.
    delays_drop_ = true;
    qp_.want_recv_doorbell(true);
    qp_.receives().await(qp_.self, now);
    qp_.adapter.steering.drop_later(qp_.self, deadline);
  }
  return Step::kWait;
}

void Responder::on_posted() {
  if (!holding_ || !delays_drop_) return;
  qp_.receives().await(qp_.self, qp_.adapter.engine.now());
}

void Responder::on_delay_over() {
  if (!holding_ || !delays_drop_ || current_) return;
  no_receive_ = true;
  resume();
}

}  // namespace verbatim::hca

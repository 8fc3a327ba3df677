// Common parts of ibv_post_send and the wr_* calls: operations per QP type, WQE encoding, and the doorbell.
#pragma once

#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {

// Payload of a work request besides its header.
enum class SendBody : std::uint8_t {
  kData,     // gather list, or inline data
  kScatter,  // a list for the response: no inline data
  kNone,
};

struct SendOperation {
  bool implemented;
  protocol::WqeOpcode opcode;
  SendBody body;
  std::uint8_t types;      // kOnRc | …: QP types that have the operation (ibv_post_send(3))
  std::uint64_t ops_flag;  // ibv_qp_create_send_ops_flags
};

enum QpTypeBit : std::uint8_t { kOnRc = 1, kOnUc = 2, kOnUd = 4, kOnXrcSend = 8, kOnRaw = 16 };

// nullptr if `opcode` is no opcode of a work request.
const SendOperation* send_operation(unsigned opcode);

std::uint8_t qp_type_bit(ibv_qp_type type);

// IBA 10.8.2.1: work requests are accepted from RTS on; in SQE and ERR they are flushed by the adapter.
inline bool accepts_sends(const ibv_qp& qp) { return qp.state >= IBV_QPS_RTS && qp.state <= IBV_QPS_ERR; }

// The slot of WQE `number`, with a cleared header; nullptr when the queue is full. A slot is released when a
// completion of the same or a later WQE is polled.
inline protocol::SendWqe* claim_slot(const SendQueue& queue, std::uint32_t number) {
  if (number - queue.reclaimed >= queue.max_wr) return nullptr;
  auto* wqe = reinterpret_cast<protocol::SendWqe*>(queue.ring +
                                                   std::size_t{number & (queue.entries - 1)} * queue.stride);
  std::memset(wqe, 0, sizeof(*wqe));
  return wqe;
}

inline std::byte* body_of(protocol::SendWqe* wqe) { return reinterpret_cast<std::byte*>(wqe + 1); }

inline void put_sge(protocol::SendWqe* wqe, std::size_t index, std::uint64_t va, std::uint32_t length,
                    std::uint32_t lkey) {
  const protocol::Sge sge{va, length, lkey};
  std::memcpy(body_of(wqe) + index * sizeof(sge), &sge, sizeof(sge));
}

// Whether a bind request names a window of type `type` and a region, or no region and no bytes. The adapter
// checks the rest and reports errors in the completion.
bool can_bind(ibv_mw* mw, ibv_mw_type type, const ibv_mw_bind_info& info);
void put_binding(protocol::SendWqe* wqe, const ibv_mw& mw, std::uint32_t rkey, const ibv_mw_bind_info& info);

inline std::uint8_t wqe_flags(const Qp& qp, unsigned send_flags) {
  std::uint8_t flags = 0;
  if (qp.signal_all || (send_flags & IBV_SEND_SIGNALED) != 0) flags |= protocol::kWqeSignaled;
  if ((send_flags & IBV_SEND_SOLICITED) != 0) flags |= protocol::kWqeSolicited;
  if ((send_flags & IBV_SEND_FENCE) != 0) flags |= protocol::kWqeFence;
  return flags;
}

// Number of started 64-byte lines of inline data.
inline std::int64_t lines_of(std::uint64_t bytes) { return static_cast<std::int64_t>((bytes + 63) / 64); }

// Publishes the WQEs up to `producer`: stores the record, lets the time of the whole call pass, then lets the
// doorbell leave the CPU. Without WQEs only the call's own time passes. `caller`: return address of the verb.
void publish_and_ring(Qp& qp, std::uint32_t producer, std::int64_t inline_lines, std::uint64_t caller);

}  // namespace verbatim::verbs

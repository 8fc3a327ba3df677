// Work requests in the adapter: copied out of the ring once, and checked. Later changes of the ring have no
// effect on them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "sim/core/trail.h"
#include "sim/hca/queues/scatter_list.h"
#include "sim/hca/queues/tag_match.h"
#include "sim/ib/payload.h"
#include "sim/ib/psn.h"
#include "sim/ib/types.h"
#include "verbs_shim/protocol/commands.h"
#include "verbs_shim/protocol/rings.h"

namespace verbatim::hca {

struct SendWork {
  std::uint64_t wr_id = 0;
  std::uint64_t remote_va = 0;
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  std::uint32_t rkey = 0;
  std::uint32_t immediate = 0;
  std::uint32_t length = 0;  // bytes of the message
  std::uint32_t number = 0;  // number of its ring entry
  std::uint32_t sequence = 0;  // number among all requests of the requester
  bool is_own = false;         // the adapter made it for a rendezvous: it has no ring entry
  std::uint32_t address_handle = 0;
  std::uint32_t remote_qpn = 0;
  std::uint32_t remote_qkey = 0;
  std::uint32_t remote_srqn = 0;  // XRC
  protocol::WqeOpcode opcode = protocol::WqeOpcode::kSend;
  std::uint8_t flags = 0;
  // Not kSuccess: the request cannot be executed, and completes with this status when all before it are
  // complete.
  ib::WcStatus fault = ib::WcStatus::kSuccess;
  ScatterList sges;               // once checked, with addresses in the program, unless it has a response
  ib::PayloadBuffer inline_data;  // in place of sges
  std::unique_ptr<protocol::AddressVector> path;  // UD: path of the address handle, once checked

  // Set when its first packet is made.
  bool begun = false;
  ib::Psn first_psn;
  std::uint32_t packets = 0;  // PSNs it takes

  // For observers: the trail up to the making of packets; the trail of the newest packet sent since; and
  // whether `trail` includes the first sending, because it was lost.
  Trail trail, sent;
  bool was_lost = false;

  bool is_atomic() const {
    return opcode == protocol::WqeOpcode::kAtomicCompareSwap ||
           opcode == protocol::WqeOpcode::kAtomicFetchAdd;
  }
  // The adapter executes it, and sends nothing.
  bool is_local() const {
    return opcode == protocol::WqeOpcode::kLocalInvalidate || opcode == protocol::WqeOpcode::kBindMemoryWindow;
  }
  // For a request to bind a memory window, which starts at remote_va.
  std::uint64_t bound_length() const { return compare_add; }
  std::uint32_t bound_lkey() const { return static_cast<std::uint32_t>(swap); }
  std::uint32_t bound_access() const { return immediate; }
  // It writes 8 bytes, which are in the request (IBA 1.6).
  bool is_atomic_write() const { return opcode == protocol::WqeOpcode::kAtomicWrite; }
  // It completes with a response, not with an acknowledgement.
  bool has_response() const { return opcode == protocol::WqeOpcode::kRdmaRead || is_atomic() || is_atomic_write(); }
  bool is_fenced() const { return (flags & protocol::kWqeFence) != 0; }
  bool is_inline() const { return (flags & protocol::kWqeInline) != 0; }
  bool is_signaled() const { return (flags & protocol::kWqeSignaled) != 0; }
  ib::Psn end_psn() const { return first_psn + packets; }  // one past its last
};

struct RecvWork {
  std::uint64_t wr_id = 0;
  std::uint32_t number = 0;
  std::uint64_t posted_ps = 0;  // as in the ring entry
  bool malformed = false;  // names more scatter entries than the ring entry holds
  ScatterList sges;
  std::uint64_t capacity = 0;       // greatest length of a message, bytes
  std::unique_ptr<TagMatch> match;  // null: no tag matching
};

// For people.
std::string_view name_of(protocol::WqeOpcode opcode);
std::string_view name_of(ib::QpType type);

// Bytes of a ring entry of a send queue whose requests have at most `data` bytes of scatter entries or inline
// data.
constexpr std::uint32_t send_entry_bytes(std::uint32_t data) {
  constexpr std::uint32_t kUnit = 64;
  return (static_cast<std::uint32_t>(sizeof(protocol::SendWqe)) + data + kUnit - 1) / kUnit * kUnit;
}

// `entry` is one ring entry, read once.
SendWork parse_send(std::span<const std::byte> entry, std::uint32_t number);
// Bytes behind the header of a send entry, within the entry: scatter entries or inline data.
std::uint32_t send_data_bytes(std::span<const std::byte> entry);
// Bytes of its inline data; none when its data is not inline.
std::optional<std::uint32_t> inline_bytes(std::span<const std::byte> entry);
// Bytes of a receive's scatter entries within the ring entry; at least those of one.
std::uint32_t recv_data_bytes(std::span<const std::byte> entry);
RecvWork parse_recv(std::span<const std::byte> entry, std::uint32_t number);

}  // namespace verbatim::hca

// Work requests as the adapter holds them: copied out of the ring once, checked, and from then on independent
// of what the program does to the ring.
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
  std::uint32_t length = 0;  // of the message, bytes
  std::uint32_t number = 0;  // of the ring entry
  std::uint32_t sequence = 0;  // among all that the requester has taken
  bool is_own = false;         // of the adapter, for a rendezvous: it has no ring entry
  std::uint32_t address_handle = 0;
  std::uint32_t remote_qpn = 0;
  std::uint32_t remote_qkey = 0;
  std::uint32_t remote_srqn = 0;  // XRC
  protocol::WqeOpcode opcode = protocol::WqeOpcode::kSend;
  std::uint8_t flags = 0;
  // Not kSuccess: the request cannot be executed and completes with this when its turn comes.
  ib::WcStatus fault = ib::WcStatus::kSuccess;
  ScatterList sges;               // addresses in the program once checked, unless it has a response
  ib::PayloadBuffer inline_data;  // instead of sges
  std::unique_ptr<protocol::AddressVector> path;  // UD: the address handle's, once checked

  // Set when its first packet is made.
  bool begun = false;
  ib::Psn first_psn;
  std::uint32_t packets = 0;  // PSNs it takes

  // For observers: its way up to where packets are made; that of the newest packet sent since the way was
  // made longer; and whether it holds the first sending, because that was in vain.
  Trail trail, sent;
  bool was_lost = false;

  bool is_atomic() const {
    return opcode == protocol::WqeOpcode::kAtomicCompareSwap ||
           opcode == protocol::WqeOpcode::kAtomicFetchAdd;
  }
  // Is executed by the adapter itself and sends nothing.
  bool is_local() const {
    return opcode == protocol::WqeOpcode::kLocalInvalidate || opcode == protocol::WqeOpcode::kBindMemoryWindow;
  }
  // Of a request to bind a memory window; where it starts is remote_va.
  std::uint64_t bound_length() const { return compare_add; }
  std::uint32_t bound_lkey() const { return static_cast<std::uint32_t>(swap); }
  std::uint32_t bound_access() const { return immediate; }
  // Of 8 bytes, which come with the request (IBA 1.6).
  bool is_atomic_write() const { return opcode == protocol::WqeOpcode::kAtomicWrite; }
  // Completes with what the responder sends back, not with an acknowledgement.
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
  std::uint64_t capacity = 0;       // bytes of a message, at the most
  std::unique_ptr<TagMatch> match;  // where there is tag matching
};

// For people.
std::string_view name_of(protocol::WqeOpcode opcode);
std::string_view name_of(ib::QpType type);

// Bytes of a ring entry of a send queue whose requests have so many bytes of scatter entries or inline data at the most.
constexpr std::uint32_t send_entry_bytes(std::uint32_t data) {
  constexpr std::uint32_t kUnit = 64;
  return (static_cast<std::uint32_t>(sizeof(protocol::SendWqe)) + data + kUnit - 1) / kUnit * kUnit;
}

// `entry` is one ring entry, read once.
SendWork parse_send(std::span<const std::byte> entry, std::uint32_t number);
// Bytes behind the header of a send entry: scatter entries or inline data, as far as they lie within it.
std::uint32_t send_data_bytes(std::span<const std::byte> entry);
// Bytes of its inline data; none when its data is not inline.
std::optional<std::uint32_t> inline_bytes(std::span<const std::byte> entry);
// Bytes of a receive's scatter entries, as far as they lie within it, and of one at the least.
std::uint32_t recv_data_bytes(std::span<const std::byte> entry);
RecvWork parse_recv(std::span<const std::byte> entry, std::uint32_t number);

}  // namespace verbatim::hca

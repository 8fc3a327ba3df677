// Work requests in the adapter: each is copied from its ring entry once, and checked. Later changes of the
// entry have no effect.
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
  std::uint32_t sequence = 0;  // number among all requests of the requester, own ones included
  bool is_own = false;         // created by the adapter for a rendezvous, without a ring entry
  std::uint32_t address_handle = 0;
  std::uint32_t remote_qpn = 0;
  std::uint32_t remote_qkey = 0;
  std::uint32_t remote_srqn = 0;  // XRC
  protocol::WqeOpcode opcode = protocol::WqeOpcode::kSend;
  std::uint8_t flags = 0;
  // Not kSuccess: the request cannot be executed and completes with this status after all earlier ones.
  ib::WcStatus fault = ib::WcStatus::kSuccess;
  ScatterList sges;               // after the check: program addresses, except for a request with a response
  ib::PayloadBuffer inline_data;  // in place of sges
  std::unique_ptr<protocol::AddressVector> path;  // UD: path of the address handle, once checked

  // Set when its first packet is made.
  bool begun = false;
  ib::Psn first_psn;
  std::uint32_t packets = 0;  // PSNs it takes

  // For observers: the trail until packets are made; the trail of the newest packet sent since then; whether
  // `trail` includes the first transmission, because that was lost.
  Trail trail, sent;
  bool was_lost = false;

  bool is_atomic() const {
    return opcode == protocol::WqeOpcode::kAtomicCompareSwap ||
           opcode == protocol::WqeOpcode::kAtomicFetchAdd;
  }
  // Executed in the adapter, without packets.
  bool is_local() const {
    return opcode == protocol::WqeOpcode::kLocalInvalidate || opcode == protocol::WqeOpcode::kBindMemoryWindow;
  }
  // For a request to bind a memory window, which starts at remote_va.
  std::uint64_t bound_length() const { return compare_add; }
  std::uint32_t bound_lkey() const { return static_cast<std::uint32_t>(swap); }
  std::uint32_t bound_access() const { return immediate; }
  // ATOMIC WRITE: writes the 8 bytes in the request (IBA 1.6).
  bool is_atomic_write() const { return opcode == protocol::WqeOpcode::kAtomicWrite; }
  // Completes by a response instead of an acknowledgement.
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
  std::uint64_t capacity = 0;       // maximum length of a message, bytes
  std::unique_ptr<TagMatch> match;  // null: no tag matching
};

// Names for messages and reports.
std::string_view name_of(protocol::WqeOpcode opcode);
std::string_view name_of(ib::QpType type);

// Bytes of a ring entry of a send queue whose requests have at most `data` bytes of scatter entries or inline
// data.
constexpr std::uint32_t send_entry_bytes(std::uint32_t data) {
  constexpr std::uint32_t kUnit = 64;
  return (static_cast<std::uint32_t>(sizeof(protocol::SendWqe)) + data + kUnit - 1) / kUnit * kUnit;
}

// Decodes one ring entry, which is read once.
SendWork parse_send(std::span<const std::byte> entry, std::uint32_t number);
// Bytes of scatter entries or inline data after the header of a send entry, limited to the entry.
std::uint32_t send_data_bytes(std::span<const std::byte> entry);
// Bytes of inline data of a send entry; nullopt: its data is not inline.
std::optional<std::uint32_t> inline_bytes(std::span<const std::byte> entry);
// Bytes of scatter entries of a receive entry, limited to the entry; at least one scatter entry.
std::uint32_t recv_data_bytes(std::span<const std::byte> entry);
RecvWork parse_recv(std::span<const std::byte> entry, std::uint32_t number);

}  // namespace verbatim::hca

// The list of tagged receives of a shared receive queue with tag matching: matches messages, and executes
// operations (ibv_post_srq_ops(3)). It knows neither engine nor memory.
//
// A message begins with a struct ibv_tmh. The first entry of the list whose mask and tag fit it receives the
// bytes after the header and is removed. A message that fits no entry is unexpected: a receive of the ring
// takes all of it, and the program, which may have tagged receives outside the list, looks for its match.
// From then on the list and the program are not synchronized: added entries match nothing until the program
// has reported that it has handled every unexpected message.
//
// An announced message (rendezvous) that the adapter cannot read into the matching tagged receive also
// consumes it: the announcement is placed there, the receive completes with IBV_WC_TM_RNDV_INCOMPLETE, and
// the program reads the message. Source: rdma-core's tag_matching.md for a receive that is too short; an
// assumption for a queue pair without READs.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "sim/hca/queues/scatter_list.h"
#include "sim/hca/queues/tag_match.h"
#include "sim/hca/queues/work_request.h"
#include "sim/ib/types.h"
#include "verbs_shim/protocol/rings.h"

namespace verbatim::hca {

// A TagOperationWqe, copied.
struct TagOperation {
  std::uint64_t wr_id = 0;
  std::uint64_t recv_wr_id = 0;
  std::uint64_t tag = 0;
  std::uint64_t mask = 0;
  std::uint32_t handle = 0;
  std::uint32_t unexpected_count = 0;
  protocol::TagOpcode opcode = protocol::TagOpcode::kSync;
  std::uint8_t flags = 0;
  bool malformed = false;  // names more scatter entries than the ring entry holds, or an unknown operation
  ScatterList sges;
};

TagOperation parse_tag_operation(std::span<const std::byte> entry);

class TagList {
 public:
  // Bytes of struct ibv_tmh, and of ibv_tmh with the ibv_rvh of an announced message.
  static constexpr std::uint32_t kHeaderBytes = 16;
  static constexpr std::uint32_t kRendezvousBytes = 32;
  // Maximum length of an announcement including the program's own header. A longer announcement is
  // unexpected.
  static constexpr std::uint32_t kMaxRendezvousBytes = 64;

  explicit TagList(std::uint32_t max_entries) : max_entries_(max_entries) {}

  // Executes an operation; returns the status of its completion.
  ib::WcStatus execute(TagOperation&& operation);
  // Whether the program has handled every unexpected message.
  bool is_synchronized() const { return unexpected_ == dealt_with_; }
  // Number of entries removed so far, modulo 2^32.
  std::uint32_t left() const { return left_; }
  std::size_t size() const { return entries_.size(); }

  // Removes and returns the tagged receive that matches the message whose first packet has this payload;
  // nullopt: a receive of the ring takes the message. `can_read`: the queue pair may read an announced
  // message.
  std::optional<RecvWork> take(std::span<const std::byte> payload, bool ends_message, bool can_read);
  // Called after a receive of the ring has taken the message: counts it as unexpected if it has a tag.
  TagMatch take_unmatched(std::span<const std::byte> payload);

 private:
  struct Entry {
    std::uint64_t wr_id = 0;
    std::uint64_t tag = 0;
    std::uint64_t mask = 0;
    std::uint32_t handle = 0;
    bool is_enabled = false;
    ScatterList sges;
  };

  const std::uint32_t max_entries_;
  std::deque<Entry> entries_;
  std::uint32_t unexpected_ = 0;  // number of unexpected messages
  std::uint32_t dealt_with_ = 0;  // number of those that the program has handled
  std::uint32_t left_ = 0;
};

}  // namespace verbatim::hca

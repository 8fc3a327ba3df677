// The list of tagged receives of a shared receive queue with tag matching: matches messages, and executes
// operations (ibv_post_srq_ops(3)). It knows neither engine nor memory.
//
// A message begins with a struct ibv_tmh. The first entry of the list whose mask and tag fit it receives the
// bytes behind the header, and leaves the list. A message that fits no entry is unexpected: a receive of the
// ring takes all of it, and the program, which may hold receives that are not in the list, looks for its
// match. From then on the list and the program differ, and added entries match nothing until the program has
// reported that it has handled every unexpected message.
//
// An announced message (rendezvous) that the adapter cannot read into the tagged receive takes it as well:
// the announcement is placed there, the receive completes as IBV_WC_TM_RNDV_INCOMPLETE, and the program reads
// the message (rdma-core's tag_matching.md describes it for a receive that is too short; for a queue pair
// without READs it is assumed).
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
  // Bytes of struct ibv_tmh, and of that with the struct ibv_rvh of an announced message.
  static constexpr std::uint32_t kHeaderBytes = 16;
  static constexpr std::uint32_t kRendezvousBytes = 32;
  // Greatest length of an announcement with the program's own header. The adapter does not read the message
  // of a longer one.
  static constexpr std::uint32_t kMaxRendezvousBytes = 64;

  explicit TagList(std::uint32_t max_entries) : max_entries_(max_entries) {}

  // Executes an operation; returns the status of its completion.
  ib::WcStatus execute(TagOperation&& operation);
  // The program has handled every unexpected message.
  bool is_synchronized() const { return unexpected_ == dealt_with_; }
  // Number of entries that have left the list.
  std::uint32_t left() const { return left_; }
  std::size_t size() const { return entries_.size(); }

  // Takes the tagged receive for the message with this first packet payload out of the list; none: a receive
  // of the ring takes the message. `can_read`: the queue pair may read an announced message.
  std::optional<RecvWork> take(std::span<const std::byte> payload, bool ends_message, bool can_read);
  // The message has taken a receive of the ring.
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

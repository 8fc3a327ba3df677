// The list of tagged receives of a shared receive queue with tag matching, and what it makes of messages and operations
// (ibv_post_srq_ops(3)). It knows neither engine nor memory.
//
// A message begins with a struct ibv_tmh. The first entry of the list whose mask and tag fit it receives what follows, and
// leaves the list. What fits none is unexpected: a receive of the ring takes all of it, and the program, which may hold
// receives that are not in the list, looks for its match. From then on the list and the program disagree about what has come,
// and entries that are added match nothing until the program has told that it has dealt with every unexpected message.
//
// A message that is only announced, and that the adapter cannot read into the tagged receive, takes it all the same: the request
// is placed there, the receive completes as IBV_WC_TM_RNDV_INCOMPLETE, and the program goes on (rdma-core's tag_matching.md has
// it so where the receive is too short; where the queue pair has no READs it is assumed).
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

// As a TagOperationWqe.
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
  // Bytes of struct ibv_tmh, and with the struct ibv_rvh of a message that is only announced.
  static constexpr std::uint32_t kHeaderBytes = 16;
  static constexpr std::uint32_t kRendezvousBytes = 32;
  // Of such a message with what a program adds to it; a longer one is not read by the adapter.
  static constexpr std::uint32_t kMaxRendezvousBytes = 64;

  explicit TagList(std::uint32_t max_entries) : max_entries_(max_entries) {}

  // The status that it completes with.
  ib::WcStatus execute(TagOperation&& operation);
  // The program has dealt with every unexpected message.
  bool is_synchronized() const { return unexpected_ == dealt_with_; }
  // Entries that have left it.
  std::uint32_t left() const { return left_; }
  std::size_t size() const { return entries_.size(); }

  // The tagged receive that takes the message with this first packet payload, out of the list; none when a receive of the
  // ring is to take it. `can_read`: what is announced may be read.
  std::optional<RecvWork> take(std::span<const std::byte> payload, bool ends_message, bool can_read);
  // A receive of the ring has been found for such a message.
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
  std::uint32_t unexpected_ = 0;  // messages, ever
  std::uint32_t dealt_with_ = 0;  // of these, as the program tells
  std::uint32_t left_ = 0;
};

}  // namespace verbatim::hca

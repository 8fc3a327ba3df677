// A shared receive queue (IBA 10.2.9): receives that several queue pairs take, in the order in which their
// messages need them. An event is raised once when there are fewer receives than a limit.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/hca/context.h"
#include "sim/hca/datapath/receive_queue.h"
#include "sim/hca/datapath/tag_matching.h"
#include "verbs_shim/protocol/rings.h"

namespace verbatim::hca {

struct SharedReceiveQueueParams {
  std::uint32_t handle = 0;
  std::uint32_t max_wr = 0;  // receives that may be posted; at most the ring's entries
  std::uint32_t number = 0;
  std::uint64_t cookie = 0;
  std::uint32_t pd = 0;
  std::uint32_t max_sge = 0;
  std::uint32_t xrcd = 0;  // XRC: handle of the opening of the domain through which it was made
  std::uint32_t domain = 0;
  Ref<CompletionQueue> cq;         // XRC and tag matching: completion queue of its receives
  std::uint64_t block_offset = 0;  // rings and record, in the arena
  std::uint64_t block_bytes = 0;
};

class SharedReceiveQueue {
 public:
  SharedReceiveQueue(Ref<SharedReceiveQueue> self, Adapter& adapter, Context& context,
                     const SharedReceiveQueueParams& params, const WorkQueue& ring,
                     const protocol::SharedReceiveQueueRecord& record)
      : self(self), context(context), params(params), receives(adapter, ring, record.producer, record.receive_notes) {
    receives.restart({{}, 0, self}, ring);
  }

  const Ref<SharedReceiveQueue> self;
  Context& context;
  const SharedReceiveQueueParams params;
  ReceiveQueue receives;
  std::unique_ptr<TagMatching> tags;  // null: no tag matching
  std::uint32_t users = 0;  // queue pairs
  std::uint32_t async_events_reported = 0;
};

}  // namespace verbatim::hca

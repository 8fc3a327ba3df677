// Tag matching of a shared receive queue: the list of tagged receives, and the ring of operations by which
// the program changes it. Operations are executed in the order of the ring, each when its entry has been
// fetched, and complete in the completion queue of the shared receive queue.
#pragma once

#include <cstdint>
#include <span>

#include "sim/hca/queues/tag_list.h"
#include "sim/hca/queues/work_queue.h"
#include "sim/hca/slot.h"

namespace verbatim::hca {

struct Adapter;
class SharedReceiveQueue;

class TagMatching {
 public:
  TagMatching(Adapter& adapter, SharedReceiveQueue& srq, const WorkQueue& ring, std::uint32_t max_tags,
              protocol::SharedReceiveQueueRecord& record)
      : list(max_tags), adapter_(adapter), srq_(srq), ring_(ring), record_(record) {}

  TagList list;

  std::span<const std::byte> entry(std::uint32_t number) const { return ring_.entry(number); }
  void on_doorbell(std::uint32_t producer);
  // Called by the fetcher.
  void on_operation(TagOperation&& operation);
  // Receives may have left the list: writes their number into the record.
  void publish();
  // The program sees these numbers now.
  void show(std::uint32_t operations_done, std::uint32_t tags_left);

 private:
  void fetch_more();

  Adapter& adapter_;
  SharedReceiveQueue& srq_;
  WorkQueue ring_;
  protocol::SharedReceiveQueueRecord& record_;
  std::uint32_t fetching_ = 0;  // operations that are being fetched
};

}  // namespace verbatim::hca

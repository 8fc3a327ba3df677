// The adapter's writes into the records of queues, which programs read. A program sees a write one PCI
// Express latency and one memory latency after it. Writes take no time on the PCI Express line.
#pragma once

#include <cstdint>

#include "sim/core/delay_line.h"
#include "sim/hca/slot.h"

namespace verbatim::hca {

struct AdapterBase;
class QueuePair;
class SharedReceiveQueue;

class RecordWriter {
 public:
  explicit RecordWriter(AdapterBase& adapter);

  // Writes whether the program must ring after a change of the queue pair's recv_producer. Returns the time
  // at which the program sees it; receives that were posted before are looked for then.
  Instant write_wish(QueuePair& qp, bool wants_recv_doorbell);
  // Writes the number of executed operations, and of tagged receives that have left the list.
  void write_tags(SharedReceiveQueue& srq, std::uint32_t operations_done, std::uint32_t tags_left);

  // Time at which a program sees the next write; kNever: there is none.
  Instant next() const { return writes_.next(); }

 private:
  struct Write {
    Ref<QueuePair> qp;
    std::uint32_t epoch = 0;  // the queue pair's ring_epoch; after a reset the write is discarded
    bool wants_recv_doorbell = false;
    Ref<SharedReceiveQueue> srq;  // write_tags(): instead of the queue pair
    std::uint32_t operations_done = 0, tags_left = 0;
  };
  Instant visible() const;
  void on_visible(Write&& write);

  AdapterBase& adapter_;
  DelayLine<Write> writes_;
};

}  // namespace verbatim::hca

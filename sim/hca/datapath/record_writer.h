// What the adapter tells programs in the records of their queues: a program sees it when a write of the adapter's can be there at
// the earliest, one way over PCI Express and an access to memory later. It takes no room on the line.
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

  // Whether a change of the queue pair's recv_producer must be followed by a doorbell. Returns when the program sees it; what
  // it has posted before that is looked for then.
  Instant write_wish(QueuePair& qp, bool wants_recv_doorbell);
  // Operations executed and tagged receives that have left the list.
  void write_tags(SharedReceiveQueue& srq, std::uint32_t operations_done, std::uint32_t tags_left);

  // When a program sees the next of them; kNever: there is none.
  Instant next() const { return writes_.next(); }

 private:
  struct Write {
    Ref<QueuePair> qp;
    std::uint32_t epoch = 0;  // of the queue pair's rings: a reset in between makes it void
    bool wants_recv_doorbell = false;
    Ref<SharedReceiveQueue> srq;  // instead
    std::uint32_t operations_done = 0, tags_left = 0;
  };
  Instant visible() const;
  void on_visible(Write&& write);

  AdapterBase& adapter_;
  DelayLine<Write> writes_;
};

}  // namespace verbatim::hca

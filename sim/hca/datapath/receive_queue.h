// Receive work requests between a ring in the arena and responders: fetched ahead of need, taken in order.
// The queue of a queue pair has one taker, a shared one several. A taker waits for a request that is still
// being fetched, and is called when there is none.
//
// There is no doorbell for receives: the producer record is read again before the queue runs out. A receive
// that was posted before a packet arrived is found; one that was posted later may be missed. With end-to-end
// credits the record is also read when half of the receives that it showed are used, so that peers are
// granted new ones in time; when a peer has been granted none, the program is asked to ring for the next
// receive.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "sim/core/ring.h"
#include "sim/core/time.h"
#include "sim/hca/queues/work_queue.h"
#include "sim/hca/queues/work_request.h"
#include "sim/hca/slot.h"
#include "verbs_shim/protocol/post_notes.h"

namespace verbatim::hca {

struct Adapter;
class QueuePair;
class SharedReceiveQueue;

// The owner of a queue: a queue pair or a shared receive queue.
struct ReceiveQueueOwner {
  Ref<QueuePair> qp;
  std::uint32_t epoch = 0;  // the queue pair's ring_epoch
  Ref<SharedReceiveQueue> srq;
};

class ReceiveQueue {
 public:
  // `record` is the producer number in the arena. A ring without entries has no receives.
  // `notes`: the address of the shim's notes, in the arena.
  ReceiveQueue(Adapter& adapter, const WorkQueue& ring, const std::atomic<std::uint32_t>& record, const std::uint64_t& notes)
      : adapter_(adapter), ring_(ring), record_(record), notes_(notes) {}

  std::uint32_t entries() const { return ring_.entries(); }
  std::uint32_t stride() const { return ring_.stride(); }
  std::span<const std::byte> entry(std::uint32_t number) const { return ring_.entry(number); }
  // The shim's note of a receive, in the memory of the program that posts here; 0: there is none.
  std::uint64_t note_of(std::uint32_t number) const {
    return notes_ == 0 ? 0 : notes_ + std::uint64_t{number & (entries() - 1)} * sizeof(protocol::PostNote);
  }
  // The queue fails, and no receive is taken: the program wrote an impossible producer number, or no receive
  // can complete.
  void fail();
  bool has_failed() const { return failed_; }
  // Producer number in the record. A program may run ahead of the adapter's time: receives that it posts
  // later than now do not count.
  std::uint32_t read_producer() const;

  // Starts with an empty ring.
  void restart(const ReceiveQueueOwner& owner, const WorkQueue& ring);
  // Fetches ahead.
  void refill();
  // Receives that the program is known to have posted and no message has taken.
  std::uint32_t unused() const { return ring_.producer() - taken_; }
  // The same with receives that the adapter does not know of yet.
  std::uint32_t posted_unused() const { return read_producer() - taken_; }
  // The least number of receives when one was taken, that one included; and how many were taken.
  std::uint32_t least() const { return least_; }
  std::uint32_t taken() const { return taken_; }
  // Every receive is given to the owner's responder to be flushed, those posted later as well.
  void flush();
  std::optional<RecvWork> take();
  // The queue pair's responder needs a receive that was posted until `since`: calls its on_receive() when
  // there is one, and on_no_receive() when there is none.
  void await(const Ref<QueuePair>& qp, Instant since);
  // For a queue pair's own queue: calls its responder driver's on_receives() when there are receives. The
  // program is asked to ring when it posts one.
  void watch();
  // Reads the record to flush receives that the program posted before it saw that it must ring.
  void look_for_flush();
  // A receive is complete: its slot may be used again.
  void retire() { ring_.retire(); }
  // Shared queues: raises SRQ_LIMIT_REACHED once when fewer than `limit` receives are posted; 0: never.
  void set_limit(std::uint32_t limit);
  std::uint32_t limit() const { return limit_; }

  // Called by the fetcher, and for doorbells in ERR or while a frame waits for a receive.
  void on_record(std::uint32_t producer, Instant sampled_at);
  void on_work(RecvWork work);
  void on_doorbell(std::uint32_t producer);

 private:
  struct Waiter {
    Ref<QueuePair> qp;
    Instant since;
  };

  bool is_posted(std::uint32_t number) const;
  // Bytes that are read to fetch `count` receives from number `first` on.
  std::uint32_t bytes_of(std::uint32_t first, std::uint32_t count) const;
  void fetch_record();
  void serve_waiters();
  void report_level() const;
  // Fewer receives than the limit may be posted. The record is read, because receives count that the adapter
  // does not know of yet.
  void recheck_srq_limit();
  void check_limit(Instant sampled_at);
  void look_for_watcher(Instant sampled_at);

  Adapter& adapter_;
  ReceiveQueueOwner owner_;
  WorkQueue ring_;
  const std::atomic<std::uint32_t>& record_;
  const std::uint64_t& notes_;
  Ring<RecvWork> fetched_;  // fetched and not taken
  Ring<Waiter> waiters_;
  std::uint32_t taken_ = 0;     // free-running
  std::uint32_t least_ = ~0u;
  std::uint32_t fetching_ = 0;  // receives on their way
  std::uint32_t limit_ = 0;
  Instant limit_check_ = kNever;  // a record read after this decides
  Instant watched_since_ = kNever;  // a record read after this shows whether there are receives
  std::uint32_t reread_below_ = 0;  // unused receives below which the record is read again
  bool record_fetching_ = false;
  bool flushing_ = false;
  bool failed_ = false;
};

}  // namespace verbatim::hca

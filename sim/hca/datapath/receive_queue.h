// Receive work requests on their way from a ring in the arena to responders: fetched ahead of need, handed
// out in order. The queue of one queue pair has one taker, a shared one several; whoever needs a request that
// is not here yet waits for it, and is told when there was none.
//
// No doorbell tells of new receives: the producer record is read again before the queue runs out. A receive
// posted before a packet came is found; one posted later need not be. Where peers are told how many receives
// are posted, the record is also read whenever half of what it showed is used, so that they learn of new ones
// in time; of a queue of which they have been told that it is empty, the program is asked to ring for the next receive.
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

// Whose queue it is; one of the two.
struct ReceiveQueueOwner {
  Ref<QueuePair> qp;
  std::uint32_t epoch = 0;  // of the queue pair's rings
  Ref<SharedReceiveQueue> srq;
};

class ReceiveQueue {
 public:
  // `record` is the producer number in the arena. A ring without entries has no receives.
  // `notes`: where the address of the shim's notes stands.
  ReceiveQueue(Adapter& adapter, const WorkQueue& ring, const std::atomic<std::uint32_t>& record, const std::uint64_t& notes)
      : adapter_(adapter), ring_(ring), record_(record), notes_(notes) {}

  std::uint32_t entries() const { return ring_.entries(); }
  std::uint32_t stride() const { return ring_.stride(); }
  std::span<const std::byte> entry(std::uint32_t number) const { return ring_.entry(number); }
  // The shim's note of a receive, in the memory of the program that posts here; 0: there is none.
  std::uint64_t note_of(std::uint32_t number) const {
    return notes_ == 0 ? 0 : notes_ + std::uint64_t{number & (entries() - 1)} * sizeof(protocol::PostNote);
  }
  // No receive is taken from here any more: the program wrote a producer number that cannot be, or nothing can complete.
  void fail();
  bool has_failed() const { return failed_; }
  // What the record says now. A program may run ahead of the adapter's time: what it posts later than now does not count.
  std::uint32_t read_producer() const;

  // Starts with an empty ring.
  void restart(const ReceiveQueueOwner& owner, const WorkQueue& ring);
  // Fetches ahead.
  void refill();
  // Receives that the program is known to have posted and no message has taken.
  std::uint32_t unused() const { return ring_.producer() - taken_; }
  // And that the program has posted, known or not.
  std::uint32_t posted_unused() const { return read_producer() - taken_; }
  // When a receive was taken, how many there were, that one included, at the least; and how many were taken.
  std::uint32_t least() const { return least_; }
  std::uint32_t taken() const { return taken_; }
  // From now on every receive goes to the owner's responder to be flushed.
  void flush();
  std::optional<RecvWork> take();
  // The queue pair's responder needs a receive that was posted until `since`: it is resumed when there is
  // one, or told that there is none.
  void await(const Ref<QueuePair>& qp, Instant since);
  // Of a queue pair's own queue: its responder is told when there are receives (on_receives()); nothing else would look. The
  // program rings when it posts one.
  void watch();
  // Receives that were posted before the program could know that it is to ring for them are flushed, too.
  void look_for_flush();
  // A receive is complete: its slot may be used again.
  void retire() { ring_.retire(); }
  // Shared queues: tells the owner once when fewer than `limit` receives are posted; 0: never.
  void set_limit(std::uint32_t limit);
  std::uint32_t limit() const { return limit_; }

  // From the fetcher, and from doorbells in ERR or where a frame waits for a receive.
  void on_record(std::uint32_t producer, Instant sampled_at);
  void on_work(RecvWork work);
  void on_doorbell(std::uint32_t producer);

 private:
  struct Waiter {
    Ref<QueuePair> qp;
    Instant since;
  };

  bool is_posted(std::uint32_t number) const;
  // That are read to fetch so many receives from number `first` on.
  std::uint32_t bytes_of(std::uint32_t first, std::uint32_t count) const;
  void fetch_record();
  void serve_waiters();
  void tell_level() const;
  // Fewer than the limit may be posted; what the program has posted counts, known here or not, so the record
  // decides.
  void doubt_limit();
  void check_limit(Instant sampled_at);
  void look_for_watcher(Instant sampled_at);

  Adapter& adapter_;
  ReceiveQueueOwner owner_;
  WorkQueue ring_;
  const std::atomic<std::uint32_t>& record_;
  const std::uint64_t& notes_;
  Ring<RecvWork> fetched_;  // and unused
  Ring<Waiter> waiters_;
  std::uint32_t taken_ = 0;     // free-running
  std::uint32_t least_ = ~0u;
  std::uint32_t fetching_ = 0;  // receives on their way
  std::uint32_t limit_ = 0;
  Instant limit_check_ = kNever;  // a record read after this decides
  Instant watched_since_ = kNever;  // likewise whether there are receives
  std::uint32_t reread_below_ = 0;  // unused receives below which the record is read again
  bool record_fetching_ = false;
  bool flushing_ = false;
  bool failed_ = false;
};

}  // namespace verbatim::hca

// Receive work requests between a ring in the arena and responders: prefetched, and taken in order. The
// responder of one queue pair, or those of several for a shared queue, take them. A responder waits for a
// request that is still being fetched, and is notified if there is none.
//
// There is no doorbell for receives: the producer record is read again before the queue is empty. A receive
// that was posted before a packet arrived is found; one that was posted later may be missed. With end-to-end
// credits the record is also read when half of the receives that it showed are used, to grant peers new ones
// in time; if a peer has been granted none, the program is requested to ring a doorbell for the next receive.
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
  // `record`: the producer number, in the arena. `notes`: the address of the shim's notes about receives, in
  // the arena. A ring without entries has no receives.
  ReceiveQueue(Adapter& adapter, const WorkQueue& ring, const std::atomic<std::uint32_t>& record, const std::uint64_t& notes)
      : adapter_(adapter), ring_(ring), record_(record), notes_(notes) {}

  std::uint32_t entries() const { return ring_.entries(); }
  std::uint32_t stride() const { return ring_.stride(); }
  std::span<const std::byte> entry(std::uint32_t number) const { return ring_.entry(number); }
  // Address of the shim's note about a receive, in the posting program's memory; 0: none.
  std::uint64_t note_of(std::uint32_t number) const {
    return notes_ == 0 ? 0 : notes_ + std::uint64_t{number & (entries() - 1)} * sizeof(protocol::PostNote);
  }
  // The queue fails; no further receive is taken. The program wrote an impossible producer number, or no
  // receive can complete.
  void fail();
  bool has_failed() const { return failed_; }
  // Producer number in the record at the current time. Receives that a program ahead of the adapter's time
  // posts later do not count.
  std::uint32_t read_producer() const;

  // Starts with an empty ring.
  void restart(const ReceiveQueueOwner& owner, const WorkQueue& ring);
  // Prefetches receives.
  void refill();
  // Number of receives, as last read from the record, that no message has taken.
  std::uint32_t unused() const { return ring_.producer() - taken_; }
  // Number of posted receives, according to read_producer(), that no message has taken.
  std::uint32_t posted_unused() const { return read_producer() - taken_; }
  // Minimum of posted_unused() when a receive was taken, that one included; number of taken receives.
  std::uint32_t least() const { return least_; }
  std::uint32_t taken() const { return taken_; }
  // Passes every receive, including later ones, to the owner's responder driver, which flushes it.
  void flush();
  // Takes the next fetched receive; nullopt: none has been fetched.
  std::optional<RecvWork> take();
  // The queue pair's responder needs a receive that was posted at `since` or earlier: calls the driver's
  // on_receive() when it is fetched, or on_no_receive() if there is none.
  void await(const Ref<QueuePair>& qp, Instant since);
  // For a queue pair's own queue: calls its responder driver's on_receives() when there are receives.
  // Requests a doorbell for the next posted receive.
  void watch();
  // Flushes receives that the program posted before it saw the request for doorbells.
  void look_for_flush();
  // A receive is complete: its ring entry may be reused.
  void retire() { ring_.retire(); }
  // Shared queues: raises SRQ_LIMIT_REACHED once when fewer than `limit` receives are posted; 0: never.
  void set_limit(std::uint32_t limit);
  std::uint32_t limit() const { return limit_; }

  // Called by the fetcher with a record read at `sampled_at` and with fetched receives; on_doorbell() in ERR,
  // and while a frame waits for a receive.
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
  // Possibly fewer receives than the limit are posted: reads the record, because receives posted since its
  // last read count.
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
  std::uint32_t fetching_ = 0;  // receives that are being fetched
  std::uint32_t limit_ = 0;
  Instant limit_check_ = kNever;  // a record read at this time or later decides about the limit; kNever: no check
  Instant watched_since_ = kNever;  // a record read at this time or later shows all receives; kNever: not watched
  std::uint32_t reread_below_ = 0;  // unused receives below which the record is read again
  bool record_fetching_ = false;
  bool flushing_ = false;
  bool failed_ = false;
};

}  // namespace verbatim::hca

// A completion queue (IBA 11.2.8): entries become visible in its ring by DMA, in the order of begin_write();
// each request for notification raises at most one event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sim/core/engine.h"
#include "sim/hca/context.h"
#include "sim/hca/slot.h"
#include "verbs_shim/protocol/rings.h"

namespace verbatim::hca {

struct Adapter;

struct CompletionQueueParams {
  std::uint32_t handle = 0;
  std::uint32_t number = 0;
  std::uint64_t cookie = 0;
  bool has_channel = false;
  std::uint32_t channel = 0;
  bool ignores_overrun = false;  // an overrun loses the oldest entry, and the queue does not fail
  std::uint32_t entries = 0;  // a power of two
  std::uint32_t depth = 0;    // completions that may wait; at most `entries`
  std::uint64_t ring_offset = 0;
  std::uint64_t record_offset = 0;
};

class CompletionQueue {
 public:
  CompletionQueue(Ref<CompletionQueue> self, Adapter& adapter, Context& context,
                  const CompletionQueueParams& params);

  const Ref<CompletionQueue> self;
  Context& context;
  std::uint32_t users = 0;            // queue pairs
  std::uint32_t events_reported = 0;  // counted when the program could read them
  std::uint32_t async_events_reported = 0;

  const CompletionQueueParams& params() const { return params_; }
  std::uint32_t number() const { return params_.number; }

  // Makes an entry visible now, with visible_at_ps, timestamp and sequence. If there is no room, the entry is
  // lost and the queue fails (IBA 11.2.8.1: overrun is an affiliated asynchronous error), unless overruns are
  // ignored.
  void write(protocol::Cqe entry, bool solicited);

  // Begins a write to memory that ends at `when`; writes end in the order in which they begin. An entry that
  // certainly has room is put into the ring now: a program ahead of the adapter's time finds it when its own
  // time is `when`. Returns whether the entry was put into the ring.
  bool begin_write(protocol::Cqe entry, Instant when);
  // The first begun write ends; `was_put`: result of its begin_write().
  void end_write(const protocol::Cqe& entry, bool solicited, bool was_put);
  // Forgets all begun writes; the caller calls begin_write() again for each.
  void forget_writes() { writing_ = put_ = 0; }
  // Cancels all begun writes: removes their entries from the ring.
  void withdraw_writes();

  // Entries written so far, modulo 2^32.
  std::uint32_t written() const { return producer_; }
  // Whether the program has taken all of them.
  bool is_empty() const { return read_consumer() == producer_; }
  // The program requested an event at `asked_at`, when `written_before` entries had been written. If entries
  // have been written since, raises the event at once.
  void arm(bool solicited_only, std::uint32_t written_before, Instant asked_at);

  // For inspection: number of entries that the program has not taken, and write times of the oldest and
  // newest of them.
  struct Waiting {
    std::uint32_t count = 0;
    Instant oldest{}, newest{};
  };
  Waiting waiting() const;
  std::uint32_t consumed() const { return read_consumer(); }
  // The last request for an event; `at` kNever: none. `answered`: its event has been raised.
  struct Asked {
    Instant at = kNever;
    std::uint32_t written_before = 0;
    bool solicited_only = false, answered = false;
    bool is_courtesy = false;  // the event was raised only for entries before the request, which is not required
  };
  const Asked& asked() const { return asked_; }
  bool has_overrun() const { return overrun_; }
  Instant last_event() const { return last_event_; }  // time of the last raised event; kNever: none
  std::uint32_t most_waiting() const { return most_waiting_; }
  const protocol::CompletionQueueRecord& record() const;

  // Moderation (ibv_modify_cq(3)): an event is delayed until `count` completions have been written since the
  // previous event or `period` has passed since it, whichever is first. Both 0: no delay.
  void moderate(std::uint32_t count, Duration period);

  // Moves the entries that the program has not consumed to a new ring. False: they do not fit.
  bool move_to(std::uint64_t ring_offset, std::uint32_t entries, std::uint32_t depth);

 private:
  enum class Arm : std::uint8_t { kNone, kSolicited, kAny };

  protocol::Cqe* entry_at(std::uint64_t ring_offset, std::uint32_t entries, std::uint32_t number) const;
  // Consumer number in the record at the current time. Entries that a program ahead of the adapter's time
  // consumes later do not count.
  std::uint32_t read_consumer() const;
  void put(std::uint32_t number, const protocol::Cqe& entry);
  // The entry with its time and sequence.
  protocol::Cqe complete(protocol::Cqe entry, std::uint32_t number, Instant when) const;
  void write(const protocol::Cqe& entry, bool solicited, bool was_put);
  // `written`: the entry's bytes in the ring; empty: there was no room.
  void record(const protocol::Cqe& entry, std::span<const std::byte> written);
  // Overrun: moves the queue pairs that complete here to the error state, and fails the shared receive queues
  // of XRC domains whose receives complete here (IBA 11.6.3), because their receives cannot complete.
  void fail_users();
  void fail_shared_receives();
  void note_waiting();
  // An entry satisfies the program's request: raises the event, or delays it by moderation.
  void want_event() {
    if (moderation_ != nullptr) [[unlikely]] return want_moderated_event();
    raise_event();
  }
  void want_moderated_event();
  void raise_event();

  struct Moderation {
    Moderation(CompletionQueue& queue, Adapter& adapter);
    std::uint32_t count = 0;
    Duration period{};
    std::uint32_t written_before = 0;  // when the last event was raised
    Instant last_event{};
    Timer timer;
  };

  Adapter& adapter_;
  CompletionQueueParams params_;
  std::uint32_t producer_ = 0;
  std::uint32_t consumer_ = 0;       // as last read from the record
  std::uint32_t writing_ = 0, put_ = 0;  // begun writes; the first ones, which are already in the ring
  std::uint32_t solicited_end_ = 0;  // one past the newest entry that a solicited-only request waits for
  bool has_solicited_ = false;
  bool overrun_ = false;
  Arm armed_ = Arm::kNone;
  Asked asked_;
  Instant last_event_ = kNever;
  std::uint32_t most_waiting_ = 0;
  std::unique_ptr<Moderation> moderation_;  // null: none
};

}  // namespace verbatim::hca

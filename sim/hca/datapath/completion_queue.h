// A completion queue (IBA 11.2.8): entries become visible in its ring by DMA, in the order in which they were
// pushed; notification is requested once and answered once.
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
  bool ignores_overrun = false;  // the program counts completions: the oldest entry is lost, and the queue does not fail
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

  // The entry becomes visible now; visible_at_ps, timestamp and sequence are filled in. An entry without room
  // is lost, and the queue fails (IBA 11.2.8.1: overrun is an affiliated asynchronous error), unless overruns
  // are ignored.
  void write(protocol::Cqe entry, bool solicited);

  // Begins a write to memory; writes end in the order in which they begin. An entry that surely has room is
  // put into the ring before its time `when`: a program that runs ahead of the adapter's time finds it when
  // its own time is `when`. Returns whether the entry was put into the ring.
  bool begin_write(protocol::Cqe entry, Instant when);
  // The first begun write ends; `was_put` is what begin_write() returned.
  void end_write(const protocol::Cqe& entry, bool solicited, bool was_put);
  // Forgets all begun writes: each begins again.
  void forget_writes() { writing_ = put_ = 0; }
  // No begun write ends: removes the entries that were put into the ring.
  void withdraw_writes();

  // Entries written so far, modulo 2^32.
  std::uint32_t written() const { return producer_; }
  // The program has taken all of them.
  bool is_empty() const { return read_consumer() == producer_; }
  // The program asked for an event at `asked_at`, when `written_before` entries had been written. An entry
  // written since raises an event at once.
  void arm(bool solicited_only, std::uint32_t written_before, Instant asked_at);

  // For inspection: entries that the program has not taken, and when the oldest and the newest of these were
  // written.
  struct Waiting {
    std::uint32_t count = 0;
    Instant oldest{}, newest{};
  };
  Waiting waiting() const;
  std::uint32_t consumed() const { return read_consumer(); }
  // The last request for an event; `at` is kNever when there was none. An event answers it.
  struct Asked {
    Instant at = kNever;
    std::uint32_t written_before = 0;
    bool solicited_only = false, answered = false;
    bool is_courtesy = false;  // the event was raised for entries before the request alone
  };
  const Asked& asked() const { return asked_; }
  bool has_overrun() const { return overrun_; }
  Instant last_event() const { return last_event_; }  // raised; kNever: none was
  std::uint32_t most_waiting() const { return most_waiting_; }
  const protocol::CompletionQueueRecord& record() const;

  // An event waits after the one before until there are `count` completions or `period` is over, whichever is
  // first (ibv_modify_cq(3)). With both 0 it does not wait.
  void moderate(std::uint32_t count, Duration period);

  // Moves the entries that the program has not consumed to a new ring; false when they do not fit.
  bool move_to(std::uint64_t ring_offset, std::uint32_t entries, std::uint32_t depth);

 private:
  enum class Arm : std::uint8_t { kNone, kSolicited, kAny };

  protocol::Cqe* entry_at(std::uint64_t ring_offset, std::uint32_t entries, std::uint32_t number) const;
  // Consumer number in the record. A program may run ahead of the adapter's time: entries that it consumes
  // later than now do not count.
  std::uint32_t read_consumer() const;
  void put(std::uint32_t number, const protocol::Cqe& entry);
  // The entry with its time and sequence.
  protocol::Cqe complete(protocol::Cqe entry, std::uint32_t number, Instant when) const;
  void write(const protocol::Cqe& entry, bool solicited, bool was_put);
  // `written`: the entry's bytes in the ring; none when there was no room for it.
  void record(const protocol::Cqe& entry, std::span<const std::byte> written);
  // The queue pairs that complete here go to the error state, and with them the shared receive queues of XRC
  // domains whose receives complete here (IBA 11.6.3): receives from them could not complete.
  void fail_users();
  void fail_shared_receives();
  void note_waiting();
  // The program asked for an event, and an entry calls for it.
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
  std::uint32_t writing_ = 0, put_ = 0;  // begun writes; those at the front that are in the ring already
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

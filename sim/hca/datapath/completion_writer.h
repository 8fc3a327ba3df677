// The last stage of every work request: its completion passes the completion stage and is written to the ring
// by DMA. The adapter has one, which keeps the order of completions and of the payload writes issued before
// them: posted writes keep their order, and no completion is seen before its data.
//
// A completion may be held back before that stage (freedom.h). Completions of one work queue keep their
// order, and a command releases them all: an object that a program destroys or moves has no held completions.
// Fields that the status of a completion leaves undefined may have any value.
#pragma once

#include <map>
#include <utility>

#include "sim/core/delay_line.h"
#include "sim/core/ring.h"
#include "sim/hca/datapath/completion_queue.h"
#include "sim/hca/stages/pipeline.h"
#include "sim/host/dma_engine.h"

namespace verbatim::hca {

struct AdapterBase;
class PayloadWriter;
struct QueueCounters;

class CompletionWriter final : public host::DmaClient {
 public:
  CompletionWriter(AdapterBase& adapter, host::DmaEngine& dma, PayloadWriter& payloads, QueueCounters& counters);

  // `trail` ends now; it is reported when the entry is visible. With a `source` there is no `cq`: the work
  // source of that queue pair gets the entry by a call.
  void push(const Ref<CompletionQueue>& cq, protocol::Cqe entry, bool solicited, Trail trail,
            const Ref<QueuePair>& source = {});
  // Held completions enter the stage now, in the order of their times.
  void release_held();
  // The adapter fails: begun writes do not end.
  void withdraw();
  // The queue pair is destroyed or reset: its completions are written now. Adapters answer such a command
  // only when the completions are in memory.
  void settle(std::uint32_t qpn);
  // The completion queue moves to another ring: completions of before are written to the old one now.
  void settle(const CompletionQueue& cq);

 private:
  struct Pending {
    Ref<CompletionQueue> cq;
    protocol::Cqe entry;
    bool solicited = false;
    Trail trail;
    Ref<QueuePair> source{};   // queue pair whose work source gets the entry
    Instant visible = kNever;  // set when its write begins
    bool is_put = false;       // CompletionQueue::begin_write()
  };
  using Queue = std::pair<std::uint32_t, bool>;  // queue pair; receives
  // Draws the fields that an unsuccessful status leaves undefined.
  void choose_undefined_fields(protocol::Cqe& entry);
  void stage(Pending pending);
  // Calls visit(queue, pending) for begun writes.
  template <class Visit>
  void for_each_begun(Visit visit);
  template <class Matches>
  void write_now(Matches matches);
  void complete_source(const QueuePair& qp, const protocol::Cqe& entry);
  void on_hold_over();
  void on_staged(std::uint64_t number);
  host::Touch touch_of(std::uint64_t cookie, std::vector<host::TouchedBytes>& bytes) const override;
  void on_dma_read(std::uint64_t, Instant) override {}
  void on_dma_write(std::uint64_t cookie) override;

  AdapterBase& adapter_;
  host::DmaEngine& dma_;
  PayloadWriter& payloads_;
  QueueCounters& counters_;
  Pipeline stage_;
  Ring<Pending> under_way_;            // in the stage, then being written; in order
  std::uint64_t first_under_way_ = 0;  // number of its front
  DelayLine<std::uint64_t> staged_;
  std::map<std::pair<Instant, std::uint64_t>, Pending> held_;  // by the time at which it is released, then in order of arrival
  std::map<Queue, Instant> last_;                              // time at which the last completion of a queue is released
  std::map<std::uint32_t, Instant> last_error_;                // the same for the error that ended a queue pair
  std::uint64_t held_ever_ = 0;
  Timer hold_timer_;
};

}  // namespace verbatim::hca

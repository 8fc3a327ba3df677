// The last stage of every work request: its completion passes the completion stage and is written to the ring
// by DMA. One for the whole adapter, in order, and behind the payload writes issued before: posted writes
// keep their order, so no completion is seen before its data.
//
// A completion may be held back before that stage (freedom.h). Those of one work queue keep their order, and
// a command holds nothing back: what a program destroys or moves has no completions on a shelf. What the status of a
// completion leaves undefined may hold anything.
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

  // `trail` ends now; it is reported when the entry is visible. The work source of the queue pair `source` gets the entry by a
  // call then, and `cq` is none.
  void push(const Ref<CompletionQueue>& cq, protocol::Cqe entry, bool solicited, Trail trail,
            const Ref<QueuePair>& source = {});
  // What is held back goes on now, in the order in which it would have.
  void release_held();
  // What is on its way to memory does not come: the adapter fails.
  void withdraw();
  // The queue pair ends or begins anew: what it has completed is written now, and nothing of it comes later,
  // as adapters answer such a command only when its completions are in memory.
  void settle(std::uint32_t qpn);
  // Likewise of a completion queue that is about to move to another ring: what was completed before is in the old one.
  void settle(const CompletionQueue& cq);

 private:
  struct Pending {
    Ref<CompletionQueue> cq;
    protocol::Cqe entry;
    bool solicited = false;
    Trail trail;
    Ref<QueuePair> source{};   // whose work source gets it
    Instant visible = kNever;  // once it is on its way to memory
    bool is_put = false;       // CompletionQueue::begin_write()
  };
  using Queue = std::pair<std::uint32_t, bool>;  // queue pair; receives
  // In an entry that is no success.
  void choose_undefined_fields(protocol::Cqe& entry);
  void stage(Pending pending);
  // Calls visit(queue, pending) for those on their way to memory.
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
  std::map<std::pair<Instant, std::uint64_t>, Pending> held_;  // by when it goes on, then in order of arrival
  std::map<Queue, Instant> last_;                              // when the last of a queue goes on
  std::map<std::uint32_t, Instant> last_error_;                // likewise of a queue pair, of those that ended it
  std::uint64_t held_ever_ = 0;
  Timer hold_timer_;
};

}  // namespace verbatim::hca

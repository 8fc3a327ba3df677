// The queue pairs of one adapter that wait for their rate, by due time, with one timer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/core/engine.h"

namespace verbatim::hca {

template <class Entry>
class PacingCalendar {
 public:
  // PacingCalendar<Ref<QueuePair>>::of<&SendPipeline::on_paced>(engine, id, this): the method is called when an entry is due,
  // and calls take_due().
  template <auto Method, class Owner>
  static PacingCalendar of(Engine& engine, ComponentId id, Owner* owner) {
    return PacingCalendar(engine, id, owner, [](void* self) { (static_cast<Owner*>(self)->*Method)(); });
  }

  // Entries of one instant are due in the order in which they were added.
  void add(Instant when, Entry entry) {
    waiting_.push_back({when, added_++, std::move(entry)});
    std::ranges::push_heap(waiting_, comes_after);
    if (!timer_.scheduled() || waiting_.front().when < timer_.when()) timer_.reschedule_at(waiting_.front().when);
  }

  // Calls take(Entry&&) for each entry that is due; it adds none.
  template <class Take>
  void take_due(Instant now, Take take) {
    while (!waiting_.empty() && waiting_.front().when <= now) {
      std::ranges::pop_heap(waiting_, comes_after);
      Entry entry = std::move(waiting_.back().entry);
      waiting_.pop_back();
      take(std::move(entry));
    }
    if (!waiting_.empty()) timer_.reschedule_at(waiting_.front().when);
  }

 private:
  struct Waiting {
    Instant when;
    std::uint64_t number;
    Entry entry;
  };
  static bool comes_after(const Waiting& a, const Waiting& b) {
    return a.when != b.when ? a.when > b.when : a.number > b.number;
  }

  template <class Callback>
  PacingCalendar(Engine& engine, ComponentId id, void* owner, Callback callback)
      : timer_(engine, id, EventClass::kStage, owner, callback) {}

  std::vector<Waiting> waiting_;  // a heap; the first is due next
  std::uint64_t added_ = 0;
  Timer timer_;
};

}  // namespace verbatim::hca

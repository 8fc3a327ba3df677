// Records of work that a thread has done ahead of time, emitted at the virtual time of the work.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "sim/core/engine.h"

namespace verbatim::supervisor {

class EarlyRecords {
 public:
  // `source`: the thread's place in the event order.
  EarlyRecords(Engine& engine, ComponentId source)
      : engine_(engine),
        timer_(Timer::of<&EarlyRecords::emit_next>(engine, source, EventClass::kProgram, this)) {}

  // Calls `emit` at `when`, which must not decrease.
  void emit_at(Instant when, std::function<void()> emit) {
    waiting_.emplace_back(when, std::move(emit));
    if (!timer_.scheduled()) timer_.schedule_at(when);
  }
  // Emits the records due by now, before the records of the thread's next action at this time.
  void emit_due() {
    while (!waiting_.empty() && waiting_.front().first <= engine_.now()) {
      timer_.cancel();
      emit_next();
    }
  }

 private:
  void emit_next() {
    const auto emit = std::move(waiting_.front().second);
    waiting_.pop_front();
    if (!waiting_.empty()) timer_.schedule_at(waiting_.front().first);
    emit();
  }

  Engine& engine_;
  Timer timer_;
  std::deque<std::pair<Instant, std::function<void()>>> waiting_;
};

}  // namespace verbatim::supervisor

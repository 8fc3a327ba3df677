// Doorbells that a thread has rung in its last slice, delivered at their own times.
#pragma once

#include <deque>
#include <span>

#include "sim/core/engine.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::supervisor {

class Thread;

class SliceDoorbells {
 public:
  // `source`: the thread's place in the event order. The process's ThreadOwner rings them.
  SliceDoorbells(Engine& engine, ComponentId source, Thread& thread)
      : thread_(thread), timer_(Timer::of<&SliceDoorbells::ring_next>(engine, source, EventClass::kProgram, this)) {}

  // In the order of their times, none before those that are queued.
  void add(std::span<const protocol::QueuedDoorbell> doorbells);
  // Time of the next one; kNever: none.
  Instant next() const { return timer_.scheduled() ? timer_.when() : kNever; }
  void clear();

 private:
  void ring_next();

  Thread& thread_;
  Timer timer_;
  std::deque<protocol::QueuedDoorbell> waiting_;
};

}  // namespace verbatim::supervisor

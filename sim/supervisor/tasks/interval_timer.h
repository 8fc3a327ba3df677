// The real-time interval timer of a process: alarm(2) and setitimer(ITIMER_REAL). SIGALRM is sent to the
// process.
#pragma once

#include "sim/core/engine.h"
#include "sim/supervisor/tasks/signals.h"

namespace verbatim::supervisor {

class Process;

class IntervalTimer {
 public:
  IntervalTimer(Engine& engine, ComponentId source, Process& process)
      : engine_(engine),
        process_(process),
        timer_(Timer::of<&IntervalTimer::on_due>(engine, source, EventClass::kSupervisor, this)) {}

  // Zero `value` stops the timer. Zero `interval` makes it fire once.
  void set(Duration value, Duration interval);
  Duration remaining() const { return timer_.scheduled() ? timer_.when() - engine_.now() : Duration::zero(); }
  Duration interval() const { return interval_; }

 private:
  void on_due();

  Engine& engine_;
  Process& process_;
  Duration interval_{};
  Timer timer_;
};

}  // namespace verbatim::supervisor

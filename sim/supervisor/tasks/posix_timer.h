// A timer of timer_create(2): sends a signal to its process, or to one thread, each time it expires.
#pragma once

#include "sim/core/engine.h"
#include "sim/supervisor/tasks/signals.h"

namespace verbatim::supervisor {

class PosixTimer {
 public:
  struct Notice {
    bool silent = false;  // SIGEV_NONE
    int signal = 0;
    std::uint64_t value = 0;
    std::uint32_t tid = 0;  // SIGEV_THREAD_ID; 0: the process
  };

  PosixTimer(Engine& engine, ComponentId source, Process& process, int id, int clock, const Notice& notice)
      : engine_(engine),
        process_(process),
        id_(id),
        clock_(clock),
        notice_(notice),
        timer_(Timer::of<&PosixTimer::on_due>(engine, source, EventClass::kSupervisor, this)) {}

  int clock() const { return clock_; }
  // First expiry at `when` (kNever: disarmed), then every `interval` unless that is zero. `late_ns`: see
  // files/missed_expiries.h.
  void set(Instant when, Duration interval, std::int64_t late_ns);
  Duration remaining() const { return timer_.scheduled() ? timer_.when() - engine_.now() : Duration::zero(); }
  Duration interval() const { return interval_; }
  // Number of expiries without a signal of their own: an earlier one was pending, or the time has passed
  // before the timer was set.
  int overrun() const { return overrun_; }

 private:
  void on_due();

  Engine& engine_;
  Process& process_;
  int id_;
  int clock_;
  Notice notice_;
  int overrun_ = 0;
  Duration interval_{};
  std::int64_t late_ns_ = 0;  // of the next expiry
  Timer timer_;
};

}  // namespace verbatim::supervisor

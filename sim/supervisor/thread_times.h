// Real time that threads spend polling and computing, by thread. For information only: it influences nothing.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/supervisor/scheduling/waiting_times.h"

namespace verbatim::supervisor {

class RunReport;
class Thread;

class ThreadTimes {
 public:
  explicit ThreadTimes(const RunReport& report) : report_(report) {}

  WaitingTime& of(Thread& thread);
  // By thread id.
  std::vector<WaitingTime> all() const { return times_.all(); }

  void token_given() { given_ = Clock::now(); }
  // The thread returns the token; returns the time since token_given(). `polls`: polls are all that it did,
  // and the time since the last return counts as polling. `is_holder`: it got the token last.
  std::chrono::nanoseconds token_returned(Thread& thread, bool is_holder, bool polls);
  // The thread did something else than polling.
  void end_polling() { last_poller_ = nullptr; }
  // The thread was poked and does not wait: it computes. `context`: address of its ucontext_t.
  void note_computing(Thread& thread, std::uint64_t context);
  // The thread's poll loop could not be proven, because of `why`.
  void note_refusal(Thread& thread, const std::string& why);

 private:
  using Clock = std::chrono::steady_clock;
  struct Computing {
    double seconds = 0;
    std::uint64_t at = 0;  // instruction at its last poke, if it was not waiting
  };

  void add_computing(Thread& thread, std::chrono::duration<double> passed);

  const RunReport& report_;
  WaitingTimes times_;
  // by tid: return address of a poll whose source line is not looked up yet
  std::map<std::uint32_t, std::uint64_t> polls_to_place_;
  std::map<std::uint32_t, Computing> computing_;  // by tid
  // by native pid: processor time of the process when it was last read
  std::map<pid_t, std::chrono::nanoseconds> used_;
  const Thread* last_poller_ = nullptr;  // thread that returned the token last, if it did nothing but poll
  Clock::time_point returned_{};         // last return of the token
  Clock::time_point given_{};            // last hand-out of the token
};

}  // namespace verbatim::supervisor

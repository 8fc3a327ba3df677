#include "sim/supervisor/idle_watch.h"

#include <algorithm>

#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/process_list.h"

namespace verbatim::supervisor {

IdleWatch::IdleWatch(const RunContext& run, const Kernel& kernel, const ProcessList& processes)
    : run_(run), kernel_(kernel), processes_(processes) {
  if (run.options.limits.without_progress != Duration::zero()) next_look_ = Instant{} + run.options.limits.without_progress;
}

Instant IdleWatch::last_progress() const {
  const Instant of_calls = kernel_.last_progress();
  return run_.options.last_record ? std::max(of_calls, run_.options.last_record()) : of_calls;
}

bool IdleWatch::finds_hang(Instant next_event) {
  const Duration span = run_.options.limits.without_progress, most = span / 10;
  const Instant last = last_progress();
  if (last + span > next_look_) {
    next_look_ = last + span;
    return false;
  }
  bool has_fired = false;
  Instant longest = next_look_;
  for (const auto& process : processes_.all()) {
    if (!process->alive || process->stopped_by != 0) continue;
    for (const auto& thread : process->threads()) {
      if (thread->state() == Thread::State::kDead || thread->parking.loop() != nullptr) continue;
      const Instant until = thread->next_event_time(), since = thread->wait.since();
      if (thread->state() != Thread::State::kBlocked) has_fired = true;
      else if (until == kNever) has_fired = has_fired || since > next_look_ - most;
      else if (until - since > most) longest = std::max(longest, until);
      else has_fired = has_fired || since > last;
    }
  }
  if (has_fired && longest == next_look_) return true;
  // The end of a longer sleep, or the first timer that fires, may be followed by progress.
  next_look_ = (longest > next_look_ ? longest : next_event) + span;
  return false;
}

}  // namespace verbatim::supervisor

#include "sim/supervisor/tasks/posix_timer.h"

#include <algorithm>
#include <csignal>
#include <limits>
#include <utility>

#include "sim/supervisor/files/missed_expiries.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

void PosixTimer::set(Instant when, Duration interval, std::int64_t late_ns) {
  timer_.cancel();
  overrun_ = 0;
  interval_ = interval;
  late_ns_ = late_ns;
  if (when != kNever) timer_.schedule_at(std::max(when, engine_.now()));
}

void PosixTimer::on_due() {
  const auto missed = MissedExpiries::of(std::exchange(late_ns_, 0), interval_);
  if (interval_ > Duration::zero()) timer_.schedule_at(later(engine_.now(), interval_ - missed.since_last));
  if (notice_.silent) return;
  constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
  const auto add = [&](std::uint64_t more) {
    overrun_ = static_cast<int>(std::min(static_cast<std::uint64_t>(overrun_) + more, kMost));
  };
  if (is_pending(process_, notice_.signal, id_)) return add(1 + missed.count);
  overrun_ = 0;
  add(missed.count);
  const SignalOrigin origin{.code = SI_TIMER, .value = notice_.value, .timer = id_};
  if (notice_.tid == 0) return send_signal(process_, notice_.signal, origin);
  for (auto& thread : process_.threads()) {
    if (thread->tid() == notice_.tid && thread->state() != Thread::State::kDead)
      signal_thread(*thread, notice_.signal, origin);
  }
}

}  // namespace verbatim::supervisor

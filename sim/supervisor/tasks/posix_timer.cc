#include "sim/supervisor/tasks/posix_timer.h"

#include <algorithm>
#include <csignal>

#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

void PosixTimer::set(Instant when, Duration interval) {
  timer_.cancel();
  overrun_ = 0;
  interval_ = interval;
  if (when != kNever) timer_.schedule_at(std::max(when, engine_.now()));
}

void PosixTimer::on_due() {
  if (interval_ > Duration::zero()) timer_.schedule_at(later(engine_.now(), interval_));
  if (notice_.silent) return;
  if (is_pending(process_, notice_.signal, id_)) {
    ++overrun_;
    return;
  }
  overrun_ = 0;
  const SignalOrigin origin{.code = SI_TIMER, .value = notice_.value, .timer = id_};
  if (notice_.tid == 0) return send_signal(process_, notice_.signal, origin);
  for (auto& thread : process_.threads()) {
    if (thread->tid() == notice_.tid && thread->state() != Thread::State::kDead)
      signal_thread(*thread, notice_.signal, origin);
  }
}

}  // namespace verbatim::supervisor

#include "sim/supervisor/tasks/interval_timer.h"

#include <csignal>

#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

void IntervalTimer::set(Duration value, Duration interval) {
  interval_ = interval;
  timer_.cancel();
  if (value > Duration::zero()) timer_.schedule_at(later(engine_.now(), value));
}

void IntervalTimer::on_due() {
  if (interval_ > Duration::zero()) timer_.schedule_at(later(engine_.now(), interval_));
  send_signal(process_, SIGALRM);
}

}  // namespace verbatim::supervisor

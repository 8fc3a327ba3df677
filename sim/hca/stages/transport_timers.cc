#include "sim/hca/stages/transport_timers.h"

#include <utility>

#include "sim/hca/freedom.h"

namespace verbatim::hca {

TransportTimers::TransportTimers(Engine& engine, Choices& choices, ComponentId component, Listener& listener)
    : engine_(engine),
      choices_(choices),
      component_(component),
      listener_(listener),
      ack_timer_(Timer::of<&TransportTimers::on_ack_timer>(engine, component, EventClass::kTimeout, this)),
      rnr_timer_(Timer::of<&TransportTimers::on_rnr_timer>(engine, component, EventClass::kTimeout, this)) {}

void TransportTimers::execute(const Action& action, Instant from) {
  switch (action.kind) {
    case Action::Kind::kArmAckTimer:
      return arm_ack_timer(action.duration, from);
    case Action::Kind::kCancelAckTimer:
      ack_deadline_ = kNever;
      return ack_timer_.cancel();
    case Action::Kind::kArmRnrTimer: {
      // At least the requested time.
      const auto factor = 1 + choices_.choose(freedom::kRnrTimer, component_, freedom::kRnrTimerFactors);
      return rnr_timer_.schedule_at(from + action.duration * factor);
    }
    case Action::Kind::kCancelRnrTimer:
      return rnr_timer_.cancel();
    default:
      CHECK(false);
  }
}

void TransportTimers::stop() {
  ack_deadline_ = kNever;
  ack_timer_.cancel();
  rnr_timer_.cancel();
}

void TransportTimers::arm_ack_timer(Duration interval, Instant from) {
  ack_interval_ = interval;
  ack_deadline_ = from + interval;
  const bool was_late = std::exchange(ack_is_late_, false);
  if (!ack_timer_.scheduled()) return ack_timer_.schedule_at(ack_deadline_);
  if (was_late && ack_timer_.when() > ack_deadline_) ack_timer_.reschedule_at(ack_deadline_);
}

void TransportTimers::on_ack_timer() {
  if (ack_deadline_ > engine_.now()) return ack_timer_.schedule_at(ack_deadline_);
  // IBA 9.7.6.1.3: the timer expires after one to four times the configured time.
  if (!std::exchange(ack_is_late_, true)) {
    const auto longer = choices_.choose(freedom::kAckTimeout, component_, freedom::kAckTimeoutFactors);
    ack_deadline_ += ack_interval_ * std::int64_t{longer};
    if (longer > 0) return ack_timer_.schedule_at(ack_deadline_);
  }
  ack_is_late_ = false;
  listener_.on_ack_timeout();
}

}  // namespace verbatim::hca

#include "sim/supervisor/thread.h"

#include <algorithm>
#include <utility>

namespace verbatim::supervisor {

void Thread::block(std::vector<VirtualFilePtr> files, Instant deadline, std::string what) {
  if (!retried_) blocked_since_ = engine_.now();
  state_ = State::kBlocked;
  retried_ = true;
  deadline_ = deadline;
  waits_for_ = std::move(what);
  waiting_on_ = std::move(files);
  for (const VirtualFilePtr& file : waiting_on_) file->add_waiter(*this);
  if (deadline != kNever) timer_.reschedule_at(deadline);
}

void Thread::queue_doorbells(std::span<const protocol::QueuedDoorbell> doorbells,
                             void (*ring)(Thread&, const protocol::QueuedDoorbell&)) {
  ring_ = ring;
  doorbells_.insert(doorbells_.end(), doorbells.begin(), doorbells.end());
  if (!doorbells_.empty() && !doorbell_timer_.scheduled()) {
    doorbell_timer_.schedule_at(instant_from_ps(doorbells_.front().time_ps));
  }
}

void Thread::on_doorbell() {
  const protocol::QueuedDoorbell doorbell = doorbells_.front();
  doorbells_.pop_front();
  if (!doorbells_.empty()) doorbell_timer_.schedule_at(instant_from_ps(doorbells_.front().time_ps));
  ring_(*this, doorbell);
}

void Thread::wake() {
  if (state_ != State::kBlocked) return;
  const Instant when = engine_.now() + wake_up_;
  if (!timer_.scheduled() || timer_.when() > when) timer_.reschedule_at(when);
}

void Thread::interrupt(int signal) {
  if (std::find(signals_.begin(), signals_.end(), signal) == signals_.end()) signals_.push_back(signal);
  wake();
}

int Thread::take_signal() {
  if (signals_.empty()) return 0;
  const int signal = signals_.front();
  signals_.pop_front();
  return signal;
}

void Thread::stop_waiting() {
  for (const VirtualFilePtr& file : waiting_on_) file->remove_waiter(*this);
  waiting_on_.clear();
  state_ = State::kPending;
}

void Thread::die() {
  stop_waiting();
  timer_.cancel();
  doorbell_timer_.cancel();
  doorbells_.clear();
  state_ = State::kDead;
}

}  // namespace verbatim::supervisor

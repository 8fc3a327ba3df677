#include "sim/supervisor/tasks/thread.h"

#include "sim/core/words.h"
#include "sim/supervisor/tasks/parking.h"
#include "sim/supervisor/tasks/process.h"
#include "verbs_shim/protocol/repeated_calls.h"

#include <algorithm>
#include <utility>

namespace verbatim::supervisor {

Thread::Thread(Engine& engine, Choices& choices, ComponentId source, Process& process, std::uint32_t slot, std::uint32_t tid,
               const protocol::CallCosts& costs)
      : delays(choices, source),
        early_records(engine, source),
        engine_(engine),
        process_(process),
        slot_(slot),
        tid_(tid),
        wake_up_(costs.wake_up_ps),
        event_wake_up_(costs.event_wake_up_ps),
        source_(source),
        timer_(engine, source, EventClass::kProgram, this, [](void* self) {
          auto* thread = static_cast<Thread*>(self);
          thread->process_.owner().on_due(*thread);
        }) {}

Thread::~Thread() = default;

void Thread::publish_credentials() {
  protocol::ThreadSlot& slot = process_.region().slot(slot_);
  const bool is_bound = !credentials.may(kCapDacOverride);
  slot.user = credentials.users().real;
  slot.file_user = is_bound ? credentials.users().file_system : kRoot;
  slot.file_group = is_bound ? credentials.groups().file_system : kRoot;
  slot.real_group = credentials.groups().real;
  const std::vector<UserId>& groups = credentials.supplementary();
  slot.group_count = static_cast<std::uint32_t>(std::min<std::size_t>(groups.size(), protocol::kMostFileGroups));
  std::copy_n(groups.begin(), slot.group_count, slot.groups);
}

void Thread::park(Parked parked, Duration* total) {
  parked_total_ = total;
  parked_ = std::make_unique<Parked>(std::move(parked));
  stop_waiting();
  state_ = State::kParked;
  wait_.files = parked_->files;
  for (const VirtualFilePtr& file : wait_.files) file->add_waiter(*this);
  if (parked_->most_looks != 0) timer_.reschedule_at(parked_->time_of(parked_->most_looks));
}

void Thread::note_write(std::uint64_t address, std::uint64_t length) { parked_->note_write(address, length); }
void Thread::note_write_elsewhere() { parked_->is_written_elsewhere = true; }

void Thread::count_parked_time() {
  if (parked_ == nullptr) return;
  *parked_total_ += engine_.now() - parked_->since;
  if (on_wait_ != nullptr) [[unlikely]] report_wait();
}

void Thread::report_wait() const {
  if (on_wait_ == nullptr) return;
  ThreadWait wait{process_.host().component, process_.pid(), tid_, {}, to_ps(engine_.now()), {}};
  if (parked_ != nullptr) {
    wait.from_ps = to_ps(parked_->since);
    wait.what = parked_->kind == Parked::Kind::kPoll ? "polling" : "spinning on memory";
    if (!parked_->queues.empty()) wait.what = "polling CQ";
    for (const PolledQueue& queue : parked_->queues) wait.what += join(" ", queue.number);
  } else if (wait_.is_retried) {
    wait.from_ps = to_ps(wait_.since);
    wait.what = wait_.what;
  } else {
    return;
  }
  // If a run ends in a deadlock, the last look may be later than the end.
  wait.to_ps = std::max(wait.to_ps, wait.from_ps);
  (*on_wait_)(wait);
}

// Number of the look that is due, counted from the one at which the thread was parked.
std::int64_t Thread::looks_of_parked() const {
  const std::int64_t look = parked_->look_due(engine_.now());
  // A look at the current time has already been made if the event that caused the wake-up is ordered after
  // the thread's timer.
  return parked_->time_of(look) == engine_.now() && engine_.has_passed(timer_) ? look + 1 : look;
}

void Thread::show_growth() {
  if (parked_ != nullptr && parked_->growing != nullptr && !parked_->is_shown)
    parked_->show(process_.memory(), looks_of_parked() - (parked_->reads_clocks() ? 1 : 0));
}

void Thread::unpark() {
  if (state_ != State::kParked) return;
  count_parked_time();
  Instant when = std::max(engine_.now(), parked_->since);
  if (parked_->turn > Duration::zero()) {
    const std::int64_t due = looks_of_parked();
    const bool takes_time = parked_->reads_clocks();
    // A loop with clocks may be between two looks, after the last one.
    const bool is_between = takes_time && parked_->time_of(due) != engine_.now();
    when = is_between ? engine_.now() : parked_->time_of(due);
    // The thread resumes at the beginning of this turn, or of the turn before it if turns recompute values
    // for which only bounds are known.
    std::int64_t from = parked_->beginning(due - (is_between ? 1 : 0));
    if (takes_time && parked_->growing->remakes) from = parked_->beginning(std::max<std::int64_t>(from - 1, 0));
    const std::int64_t shown = takes_time ? from : due;
    parked_->show(process_.memory(), shown);
    parked_->is_shown = true;  // keeps show() from restoring an earlier turn while registers are written
    parked_->show_registers(process_, process_.region().slot(slot_), shown);
    parked_->is_shown = false;
    if (process_.analyst() != nullptr) process_.analyst()->note_skipped(*parked_, from);
    const Instant start = parked_->time_of(from);
    if (start != when) turn_ = Turn{start, when, shown, std::move(parked_)};
  }
  // The thread stays in the waiting lists: a file that is waking its waiters must not lose one.
  // stop_waiting() follows later.
  parked_.reset();
  unparked_ = true;
  run_at(when);
}

void Thread::block(std::vector<VirtualFilePtr> files, Instant deadline, std::string what) {
  if (!wait_.is_retried) wait_.since = engine_.now();
  state_ = State::kBlocked;
  wait_.is_retried = true;
  wait_.is_woken = false;
  wait_.late = delays.choose(kAfterWait);
  wait_.deadline = deadline;
  wait_.what = std::move(what);
  wait_.files = std::move(files);
  for (const VirtualFilePtr& file : wait_.files) file->add_waiter(*this);
  if (deadline != kNever) timer_.reschedule_at(deadline + wait_.late);
}

bool Thread::is_repeated_poll() const {
  return requests<request::SystemCall>() && !protocol::is_sleep(call_.number, call_.arguments) &&
         empty_calls.contains(call_);
}

void Thread::postpone(Instant when) {
  if (state_ == State::kPending && !retried()) called_at_ = when;
  timer_.reschedule_at(when);
}

void Thread::queue_doorbells(std::span<const protocol::QueuedDoorbell> doorbells) {
  doorbells_.insert(doorbells_.end(), doorbells.begin(), doorbells.end());
  if (!doorbells_.empty() && !doorbell_timer_.scheduled()) {
    doorbell_timer_.schedule_at(instant_from_ps(doorbells_.front().time_ps));
  }
}

void Thread::on_doorbell() {
  const protocol::QueuedDoorbell doorbell = doorbells_.front();
  doorbells_.pop_front();
  if (!doorbells_.empty()) doorbell_timer_.schedule_at(instant_from_ps(doorbells_.front().time_ps));
  process_.owner().ring(*this, doorbell);
}

void Thread::wake(bool by_adapter_event) {
  unpark();
  if (state_ != State::kBlocked || wait_.is_woken || engine_.now() >= wait_.deadline) return;
  wait_.is_woken = true;
  timer_.reschedule_at(engine_.now() + wake_up_ + (by_adapter_event ? event_wake_up_ : Duration::zero()) + wait_.late);
}

void Thread::interrupt(const QueuedSignal& signal) {
  signals.deliverable.push(signal);
  wake();
}

void Thread::add_masked(const QueuedSignal& signal) {
  signals.awaits(signal.signal) ? interrupt(signal) : signals.masked.push(signal);
}

void Thread::hold(std::optional<Answer> answer) {
  held_ = true;
  held_answer_ = answer;
}

void Thread::go_on(Instant when) {
  if (!std::exchange(held_, false)) return;
  if (state_ == State::kDead) return;
  timer_.reschedule_at(when);
}

void Thread::stop_waiting() {
  for (const VirtualFilePtr& file : wait_.files) file->remove_waiter(*this);
  wait_.files.clear();
  state_ = State::kPending;
}

void Thread::die() {
  if (parked_ == nullptr) report_wait();
  count_parked_time();
  parked_.reset();
  stop_waiting();
  arguments_.forget();
  timer_.cancel();
  doorbell_timer_.cancel();
  doorbells_.clear();
  state_ = State::kDead;
}

}  // namespace verbatim::supervisor

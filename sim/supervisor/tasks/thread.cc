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
      : wait(*this, costs),
        parking(engine, timer_, process, slot),
        doorbells(engine, source, *this),
        delays(choices, source),
        early_records(engine, source),
        engine_(engine),
        process_(process),
        slot_(slot),
        tid_(tid),
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
  parking.begin(std::move(parked), total);
  const Parked& loop = *parking.loop();
  stop_waiting();
  state_ = State::kParked;
  wait.watch(loop.files);
  if (loop.most_looks != 0) timer_.reschedule_at(loop.time_of(loop.most_looks));
}

// The thread stays in the waiting lists: a file that is waking its waiters must not lose one. stop_waiting()
// follows later.
void Thread::unpark() {
  if (state_ != State::kParked) return;
  report_wait();
  run_at(parking.end());
}

void Thread::end_turns() {
  report_wait();
  run_at(parking.end_turns());
}

void Thread::report_wait() const {
  if (on_wait_ == nullptr) [[likely]] return;
  ThreadWait ended{process_.host().component, process_.pid(), tid_, {}, to_ps(engine_.now()), {}};
  if (const Parked* const parked = parking.loop(); parked != nullptr) {
    ended.from_ps = to_ps(parked->since);
    ended.what = parked->kind == Parked::Kind::kPoll ? "polling" : "spinning on memory";
    if (!parked->queues.empty()) ended.what = "polling CQ";
    for (const PolledQueue& queue : parked->queues) ended.what += join(" ", queue.number);
  } else if (wait.is_retried()) {
    ended.from_ps = to_ps(wait.since());
    ended.what = wait.what();
  } else {
    return;
  }
  // If a run ends in a deadlock, the last look may be later than the end.
  ended.to_ps = std::max(ended.to_ps, ended.from_ps);
  (*on_wait_)(ended);
}

void Thread::block(std::vector<VirtualFilePtr> files, Instant deadline, std::string what) {
  state_ = State::kBlocked;
  const Duration late = delays.choose(kAfterWait);
  const Instant retry = wait.begin(std::move(files), deadline, std::move(what), engine_.now(), late);
  if (retry != kNever) timer_.reschedule_at(retry);
}

bool Thread::is_repeated_poll() const {
  return requests<request::SystemCall>() && !protocol::is_sleep(call_.number, call_.arguments) &&
         empty_calls.contains(call_);
}

void Thread::postpone(Instant when) {
  if (state_ == State::kPending && !wait.is_retried()) call_.called_at = when;
  timer_.reschedule_at(when);
}

void Thread::wake(bool by_adapter_event) {
  unpark();
  if (state_ != State::kBlocked) return;
  if (const auto when = wait.wake(engine_.now(), by_adapter_event)) timer_.reschedule_at(*when);
}

void Thread::interrupt(const QueuedSignal& signal) {
  signals.deliverable.push(signal);
  wake();
}

void Thread::add_masked(const QueuedSignal& signal) {
  signals.awaits(signal.signal) ? interrupt(signal) : signals.masked.push(signal);
}

void Thread::hold(std::optional<Answer> answer) {
  held_ = {true, answer};
}

void Thread::go_on(Instant when) {
  if (!std::exchange(held_.is_held, false)) return;
  if (state_ == State::kDead) return;
  timer_.reschedule_at(when);
}

void Thread::stop_waiting() {
  wait.leave();
  state_ = State::kPending;
}

void Thread::die() {
  report_wait();
  parking.cancel();
  stop_waiting();
  call_.copies.forget();
  timer_.cancel();
  doorbells.clear();
  state_ = State::kDead;
}

}  // namespace verbatim::supervisor

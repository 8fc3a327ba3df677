#include "sim/supervisor/tasks/thread.h"

#include "sim/core/words.h"
#include "sim/supervisor/tasks/parking.h"
#include "sim/supervisor/tasks/process.h"
#include "verbs_shim/protocol/repeated_calls.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace verbatim::supervisor {

Thread::Thread(Engine& engine, Choices& choices, ComponentId source, Process& process, std::uint32_t slot, std::uint32_t tid,
               const protocol::CallCosts& costs)
      : engine_(engine),
      choices_(choices),
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
  waiting_on_ = parked_->files;
  for (const VirtualFilePtr& file : waiting_on_) file->add_waiter(*this);
  if (parked_->most_looks != 0) timer_.reschedule_at(parked_->time_of(parked_->most_looks));
}

void Thread::note_write(std::uint64_t address, std::uint64_t length) { parked_->note_write(address, length); }

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
  } else if (retried_) {
    wait.from_ps = to_ps(blocked_since_);
    wait.what = waits_for_;
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
    if (process_.analyst() != nullptr) process_.analyst()->add_credit(from);
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
  if (!retried_) blocked_since_ = engine_.now();
  state_ = State::kBlocked;
  retried_ = true;
  woken_ = false;
  late_ = scheduling_delay(kAfterWait);
  deadline_ = deadline;
  waits_for_ = std::move(what);
  waiting_on_ = std::move(files);
  for (const VirtualFilePtr& file : waiting_on_) file->add_waiter(*this);
  if (deadline != kNever) timer_.reschedule_at(deadline + late_);
}

Duration Thread::scheduling_delay(const DelaySite& site) {
  if (!choices_.is_free()) return Duration::zero();
  const std::uint64_t occurrence = asked_[site.name]++;
  const Duration delay = rare_[site.name].choose(site, choices_, source_);
  if (delay != Duration::zero()) was_late_ = {site.name, occurrence};
  return delay;
}

void Thread::expect_lateness(protocol::ThreadSlot& slot) {
  for (std::size_t kind = 0; kind < protocol::kOwnCallKinds; ++kind) {
    std::int64_t& until_late = slot.calls_until_late[kind];
    if (!own_calls_[kind].is_drawn || until_late <= 0) expect_lateness(own_calls_[kind], until_late);
  }
  if (!process_.traps_accesses) return;
  if (!accesses_.is_drawn || slot.accesses_until_late <= 0) expect_lateness(accesses_, slot.accesses_until_late);
}

void Thread::expect_lateness(Expected& expected, std::int64_t& until_late) {
  constexpr std::int64_t kMostAhead = 1024;
  expected.is_drawn = true;
  expected.late = Duration::zero();
  until_late = std::numeric_limits<std::int64_t>::max();
  if (!choices_.is_free()) return;
  std::int64_t number = 0;
  while (number < expected.ahead && expected.late == Duration::zero()) {
    expected.number = asked_[expected.site.name]++;
    expected.late = expected.rare.choose(expected.site, choices_, source_);
    ++number;
  }
  // Threads with few calls draw few choices.
  expected.ahead = std::min(2 * expected.ahead, kMostAhead);
  until_late = number;
}

Duration Thread::take_lateness(Expected& expected, std::int64_t& until_late) {
  if (until_late > 0) return Duration::zero();
  const Duration late = expected.late;
  if (late != Duration::zero()) was_late_ = {expected.site.name, expected.number};
  expect_lateness(expected, until_late);
  return late;
}

Duration Thread::take_late_access(protocol::ThreadSlot& slot, const std::function<std::size_t()>& loads) {
  const auto how = std::get<request::Access>(request_).lateness;
  loads_before_store_ = 0;
  const Duration buffered_for = std::exchange(buffered_for_, Duration::zero());
  if (how == protocol::AccessLateness::kBuffered) {
    was_late_ = std::exchange(was_buffered_, std::nullopt);
    return buffered_for;
  }
  const Duration late = take_lateness(accesses_, slot.accesses_until_late);
  if (how != protocol::AccessLateness::kMayBeBuffered || late == Duration::zero()) return late;
  const auto found = static_cast<std::uint32_t>(loads());
  if (found != 0) loads_before_store_ = choices_.choose(kStoreBuffer, source_, 1 + found);
  if (loads_before_store_ == 0) return late;
  buffered_for_ = late;
  was_buffered_ = take_late();
  return Duration::zero();
}

std::size_t Thread::place_among_empty_calls() const {
  const auto same = std::ranges::find_if(empty_calls_, [this](const EmptyCall& other) {
    return other.call.number == call_.number && protocol::ask_the_same(call_.number, call_.arguments, other.call.arguments);
  });
  return static_cast<std::size_t>(same - empty_calls_.begin());
}

bool Thread::is_repeated_poll() const {
  return requests<request::SystemCall>() && !protocol::is_sleep(call_.number, call_.arguments) &&
         place_among_empty_calls() != empty_calls_.size();
}

bool Thread::repeats_empty_call(bool is_empty) {
  if (!is_empty) {
    empty_calls_.clear();
    oldest_empty_call_ = 0;
    return false;
  }
  const std::size_t place = place_among_empty_calls();
  const bool again = place != empty_calls_.size();
  if (again) {
    last_empty_call_ = place;
  } else if (empty_calls_.size() < protocol::kMostKnownCalls) {
    last_empty_call_ = empty_calls_.size();
    empty_calls_.emplace_back();
  } else {
    last_empty_call_ = std::exchange(oldest_empty_call_, (oldest_empty_call_ + 1) % empty_calls_.size());
  }
  empty_calls_[last_empty_call_] = EmptyCall{.call = call_};
  return again;
}

std::uint32_t Thread::keep_empty_call(std::int64_t result, Duration slept, std::vector<std::uint8_t> memory,
                                   const std::vector<VirtualFilePtr>& files) {
  EmptyCall& call = empty_calls_.at(last_empty_call_);
  call.result = result;
  call.slept = slept;
  call.memory = std::move(memory);
  for (const VirtualFilePtr& file : files) {
    call.files.push_back(file);
    call.generations.push_back(file->generation());
  }
  call.repeats = true;
  const auto place = static_cast<std::uint32_t>(last_empty_call_ + 1);
  return known_places(still_empty(protocol::kAllKnownCalls)) | place << protocol::kKeptAtShift;
}

bool Thread::is_still_empty(const EmptyCall& call) {
  for (std::size_t i = 0; i < call.files.size(); ++i) {
    const VirtualFilePtr file = call.files[i].lock();
    if (file == nullptr || file->generation() != call.generations[i]) return false;
  }
  return call.repeats;
}

Thread::KnownCalls Thread::still_empty(std::uint32_t places) const {
  KnownCalls known{};
  for (std::size_t i = 0; i < empty_calls_.size(); ++i) {
    if ((places >> i & 1) != 0 && is_still_empty(empty_calls_[i])) known[i] = &empty_calls_[i];
  }
  return known;
}

std::uint32_t known_places(const Thread::KnownCalls& known) {
  std::uint32_t places = 0;
  for (std::size_t i = 0; i < known.size(); ++i) places |= static_cast<std::uint32_t>(known[i] != nullptr) << i;
  return places;
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

void Thread::emit_at(Instant when, std::function<void()> emit) {
  to_emit_.emplace_back(when, std::move(emit));
  if (!emission_timer_.scheduled()) emission_timer_.schedule_at(when);
}

void Thread::emit_due() {
  while (!to_emit_.empty() && to_emit_.front().first <= engine_.now()) {
    emission_timer_.cancel();
    on_emission();
  }
}

void Thread::on_emission() {
  const auto emit = std::move(to_emit_.front().second);
  to_emit_.pop_front();
  if (!to_emit_.empty()) emission_timer_.schedule_at(to_emit_.front().first);
  emit();
}

void Thread::wake(bool by_adapter_event) {
  unpark();
  if (state_ != State::kBlocked || woken_ || engine_.now() >= deadline_) return;
  woken_ = true;
  timer_.reschedule_at(engine_.now() + wake_up_ + (by_adapter_event ? event_wake_up_ : Duration::zero()) + late_);
}

void Thread::interrupt(const QueuedSignal& signal) {
  signals_.push(signal);
  wake();
}

void Thread::await_signals(std::uint64_t set) {
  awaited_ = set;
  while (const auto signal = masked_.take(set)) signals_.push(*signal);
}

void Thread::add_masked(const QueuedSignal& signal) {
  awaits(signal.signal) ? interrupt(signal) : masked_.push(signal);
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
  for (const VirtualFilePtr& file : waiting_on_) file->remove_waiter(*this);
  waiting_on_.clear();
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

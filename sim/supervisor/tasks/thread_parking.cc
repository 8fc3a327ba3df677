#include "sim/supervisor/tasks/thread_parking.h"

#include <algorithm>

#include "sim/supervisor/tasks/parking.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

ThreadParking::ThreadParking(const Engine& engine, const Timer& timer, Process& process, std::uint32_t slot)
    : engine_(engine), timer_(timer), process_(process), slot_(slot) {}

ThreadParking::~ThreadParking() = default;

void ThreadParking::begin(Parked loop, Duration* total) {
  total_ = total;
  loop_ = std::make_shared<Parked>(std::move(loop));
}

void ThreadParking::note_write(std::uint64_t address, std::uint64_t length) { loop_->note_write(address, length); }
void ThreadParking::note_write_elsewhere() { loop_->is_written_elsewhere = true; }

void ThreadParking::count_time() { *total_ += engine_.now() - loop_->since; }

void ThreadParking::cancel() {
  if (loop_ == nullptr) return;
  count_time();
  loop_.reset();
}

// Number of the look that is due, counted from the one at which the thread was parked.
std::int64_t ThreadParking::looks() const {
  const std::int64_t look = loop_->look_due(engine_.now());
  // A look at the current time has already been made if the event that caused the wake-up is ordered after
  // the thread's timer.
  return loop_->time_of(look) == engine_.now() && engine_.has_passed(timer_) ? look + 1 : look;
}

void ThreadParking::show_growth() {
  if (loop_ != nullptr && loop_->growing != nullptr && !loop_->is_shown)
    loop_->show(process_.memory(), looks() - (loop_->reads_clocks() ? 1 : 0));
}

Instant ThreadParking::end() {
  count_time();
  Instant when = std::max(engine_.now(), loop_->since);
  if (loop_->turn > Duration::zero()) {
    const std::int64_t due = looks();
    const bool takes_time = loop_->reads_clocks();
    // A loop with clocks may be between two looks, after the last one. What it does at this instant has already been done
    // if the event that caused the wake-up is ordered after the thread's timer.
    const bool is_between = takes_time && loop_->time_of(due) != engine_.now();
    const Instant begins = engine_.now() + Duration(engine_.has_passed(timer_) ? 1 : 0);
    when = is_between ? begins : loop_->time_of(due);
    // The thread resumes at the beginning of this turn, or of the turn before it if turns recompute values
    // for which only bounds are known.
    std::int64_t from = loop_->beginning(due - (is_between ? 1 : 0));
    if (takes_time && loop_->growing->remakes) from = loop_->beginning(std::max<std::int64_t>(from - 1, 0));
    const std::int64_t shown = takes_time ? from : due;
    loop_->show(process_.memory(), shown);
    loop_->is_shown = true;  // keeps show() from restoring an earlier turn while registers are written
    loop_->show_registers(process_, process_.region().slot(slot_), shown);
    loop_->is_shown = false;
    if (process_.analyst() != nullptr) process_.analyst()->note_skipped(*loop_, from);
    const Instant start = loop_->time_of(from);
    if (start != when) turn_ = Turn{start, when, shown, std::move(loop_)};
  }
  own_end_.reset();
  loop_.reset();
  is_unparked_ = true;
  return when;
}

Instant ThreadParking::end_turns() {
  const std::shared_ptr<const Parked> loop = loop_;
  const Instant when = end();
  const std::uint64_t epoch = process_.memory().epoch();
  if (loop->kind == Parked::Kind::kPoll && !loop->reads_clocks() && !turn_ && loop->nothing_has_run(epoch)) own_end_ = epoch;
  return when;
}

bool ThreadParking::take_own_end() {
  const auto ended_at = std::exchange(own_end_, std::nullopt);
  return ended_at && *ended_at == process_.memory().epoch();
}

}  // namespace verbatim::supervisor

#include "tools/verbatim/process_pool.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

namespace verbatim::cli {

namespace {

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

}  // namespace

ProcessPool::ProcessPool(int jobs, int core)
    : cores_(core >= 0 ? std::vector<int>{core} : allowed_cores()),
      slots_(jobs > 0 ? static_cast<std::size_t>(jobs) : std::max<std::size_t>(cores_.size(), 1)) {}

std::optional<std::size_t> ProcessPool::free_slot() const {
  const auto free = std::ranges::find(slots_, false, &Slot::is_busy);
  if (free == slots_.end()) return std::nullopt;
  return static_cast<std::size_t>(free - slots_.begin());
}

bool ProcessPool::any_busy() const { return std::ranges::any_of(slots_, &Slot::is_busy); }

std::vector<int> ProcessPool::wait(std::span<const int> descriptors, int wall_ms) {
  std::vector<int> readable = waiting_.wait(descriptors, wait_ms(wall_ms));
  if (const int next = next_signal(); next != 0) signal(next, false);
  return readable;
}

std::vector<ProcessPool::Ended> ProcessPool::reap() {
  std::vector<Ended> ended;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    int status = 0;
    if (slots_[slot].process < 0 || ::waitpid(slots_[slot].process, &status, WNOHANG) != slots_[slot].process)
      continue;
    slots_[slot] = {};
    ended.push_back({slot, status});
  }
  return ended;
}

int ProcessPool::await_end(std::size_t slot) {
  const pid_t process = slots_[slot].process;
  const int status = process < 0 ? 0 : supervisor::await_child(process).status;
  slots_[slot] = {};
  return status;
}

void ProcessPool::abandon() {
  const auto has_process = [](const Slot& slot) { return slot.process >= 0; };
  if (std::ranges::none_of(slots_, has_process)) return;
  // A run that is asked to end ends its programs. The programs of a killed run die with it.
  is_abandoned_ = true;
  if (const int next = next_signal(); next != 0) signal(next, next == SIGKILL);
  while (reap(), std::ranges::any_of(slots_, has_process)) {
    waiting_.wait({}, wait_ms(-1));
    if (const int next = next_signal(); next != 0) signal(next, next == SIGKILL);
  }
  is_abandoned_ = false;
  interruptions_seen_ = 0;
  step_ = Step::kNone;
}

int ProcessPool::next_signal() {
  using Clock = std::chrono::steady_clock;
  const int interruptions = Interruption::count();
  const bool is_asked_again = step_ == Step::kAsked && interruptions > interruptions_seen_ && !is_abandoned_;
  interruptions_seen_ = interruptions;
  if (step_ == Step::kNone && (is_abandoned_ || interruptions != 0)) {
    step_ = Step::kAsked;
    kill_at_ = Clock::now() + std::chrono::milliseconds(supervisor::kKillAfterMs);
    return SIGTERM;
  }
  if (step_ != Step::kAsked || (!is_asked_again && Clock::now() < kill_at_)) return 0;
  step_ = Step::kKilled;
  return SIGKILL;
}

// Time until next_signal() may return a signal.
int ProcessPool::wait_ms(int wall_ms) const {
  if (step_ != Step::kAsked) return wall_ms;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(kill_at_ - std::chrono::steady_clock::now()).count();
  const int until_kill = static_cast<int>(std::max<std::int64_t>(left, 0));
  return wall_ms < 0 ? until_kill : std::min(wall_ms, until_kill);
}

void ProcessPool::signal(int signal, bool all) const {
  for (const Slot& slot : slots_) {
    if (slot.process >= 0 && (all || slot.is_busy)) ::kill(slot.process, signal);
  }
}

}  // namespace verbatim::cli

#include "sim/supervisor/scheduling/second_core.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

namespace verbatim::supervisor {

namespace {

int chosen_second(int program_core, const cpu_set_t& allowed, const Processors& machine) {
  const std::set<int> avoided = machine.siblings_of(program_core);
  for (int step = 1; step < CPU_SETSIZE; ++step) {
    const int processor = (program_core + step) % CPU_SETSIZE;
    if (CPU_ISSET(processor, &allowed) && processor != program_core && !avoided.contains(processor)) return processor;
  }
  return -1;
}

// Number of polls that take `time`.
std::uint32_t looks_in(std::chrono::nanoseconds time) {
  constexpr int kTried = 2000;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kTried; ++i) __builtin_ia32_pause();
  const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - begin;
  const auto took = std::max(passed, std::chrono::nanoseconds(kTried));
  return static_cast<std::uint32_t>(std::max<std::int64_t>(time * kTried / took, 100));
}

// True if the control group with files in `folder` has a quota (microseconds per period) of less than two
// processors.
bool is_less_than_two(const std::filesystem::path& folder, bool is_unified) {
  std::ifstream limits(folder / (is_unified ? "cpu.max" : "cpu.cfs_quota_us"));
  std::ifstream periods(folder / "cpu.cfs_period_us");
  std::int64_t quota = 0, period = 0;
  if (!(limits >> quota) || !((is_unified ? limits : periods) >> period)) return false;  // "max" is no number
  return quota > 0 && period > 0 && quota < 2 * period;
}

// True if nothing else runs, except for one thread for each four processors beyond the two that are used
// here.
bool others_are_idle(const cpu_set_t& allowed, int running) {
  constexpr int kForUs = 2, kOfProcessors = 4;
  return running >= 1 && (running - 1) * kOfProcessors <= CPU_COUNT(&allowed) - kForUs;
}

}  // namespace

bool is_limited_to_less_than_two(const std::string& groups, const std::filesystem::path& mounted) {
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    // "9:cpu,cpuacct:/user.slice" in version 1, "0::/user.slice" in version 2.
    const std::size_t first = line.find(':'), second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_unified = controllers == ",,";
    if (!is_unified && controllers.find(",cpu,") == controllers.npos) continue;
    const std::filesystem::path top = is_unified ? mounted : mounted / "cpu";
    std::filesystem::path group = std::filesystem::path(line.substr(second + 1)).relative_path();
    while (true) {
      if (is_less_than_two(top / group, is_unified)) return true;
      if (group.empty()) break;
      group = group.parent_path();
    }
  }
  return false;
}

bool SecondCoreTrial::add(bool second, std::chrono::nanoseconds time) {
  windows_[second ? 1 : 0].push_back(time);
  return windows_[0].size() < kWindows || windows_[1].size() < kWindows;
}

bool SecondCoreTrial::is_second_quicker() const {
  // Medians, because a program may have computed for long in a single window.
  const auto middle = [](std::vector<std::chrono::nanoseconds> times) {
    std::ranges::sort(times);
    return times[(times.size() - 1) / 2] + times[times.size() / 2];
  };
  return middle(windows_[1]) * 4 < middle(windows_[0]) * 3;
}

SecondCore::SecondCore(SecondCoreUse use, int program_core, const cpu_set_t& allowed, Processors& machine)
    : machine_(machine), use_(use), program_core_(program_core) {
  if (use_ == SecondCoreUse::kNever) return;
  core_ = chosen_second(program_core, allowed, machine);
  if (use_ == SecondCoreUse::kWhenFree && is_limited_to_less_than_two(machine.control_groups(), "/sys/fs/cgroup")) core_ = -1;
  if (use_ == SecondCoreUse::kAlways) move_to(true);
  if (use_ != SecondCoreUse::kWhenFree || core_ < 0 || !others_are_idle(allowed, machine.running_threads())) return;
  move_to(true);
  second_before_ = used_;
  next_trial_ = machine_.now() + kLeastPause;
}

void SecondCore::review() {
  if (core_ < 0) return;
  if (used_) hand_overs_on_it_ += kReviewed;
  slow_.begin();
  switch (use_) {
    case SecondCoreUse::kChanging:
      // At times that no program can predict and that differ between runs.
      if ((machine_.now().time_since_epoch().count() >> 4) % 2 == 0) move_to(!used_);
      return;
    case SecondCoreUse::kWhenFree:
      return review_free(machine_.now());
    case SecondCoreUse::kNever:
    case SecondCoreUse::kAlways:
      return;
  }
}

void SecondCore::review_free(Clock::time_point now) {
  const auto window = now - std::exchange(window_began_, now);
  if (used_ && is_second_wanted(now)) return end_trial(false, now);
  if (tries_) {
    if (trial_.add(used_, window)) return move_to(!used_);
    return end_trial(trial_.is_second_quicker(), now);
  }
  if (now < next_trial_ || (!used_ && !is_second_free(now))) return;
  tries_ = true;
  second_before_ = used_;
  trial_.begin();
  move_to(!used_);
}

// True if the processor was idle for at least nine of ten ticks since the previous check. A check needs an
// earlier one between kWatched and 10 kWatched ago.
bool SecondCore::is_second_free(Clock::time_point now) {
  if (now - watched_ < kWatched) return false;
  const ProcessorTicks before = std::exchange(ticks_, machine_.ticks(core_));
  const bool recently = now - std::exchange(watched_, now) < 10 * kWatched;
  return recently && ticks_.all > before.all && (ticks_.idle - before.idle) * 10 >= (ticks_.all - before.all) * 9;
}

// True if other threads preempted the simulator more than four times per kJudged since the last check, which
// is at least kJudged ago.
bool SecondCore::is_second_wanted(Clock::time_point now) {
  if (now - judged_ < kJudged) return false;
  const auto periods = (now - std::exchange(judged_, now)) / kJudged;
  const std::int64_t now_interrupted = machine_.interruptions();
  return now_interrupted - std::exchange(interruptions_, now_interrupted) > 4 * periods;
}

// Ends a trial, or the use of the second processor, with a decision. The pause until the next trial doubles
// while decisions confirm the configuration.
void SecondCore::end_trial(bool second, Clock::time_point now) {
  pause_ = second == second_before_ ? std::min(pause_ * 2, kLongestPause) : kLeastPause;
  tries_ = false;
  second_before_ = second;
  next_trial_ = now + pause_;
  if (used_ != second) move_to(second);
}

void SecondCore::move_to(bool second) {
  if (core_ < 0) return;
  if (!machine_.run_on(second ? core_ : program_core_)) return;
  used_ = second;
  if (!used_) return;
  if (looks_ == 0) looks_ = looks_in(kLook);
  judged_ = machine_.now();
  interruptions_ = machine_.interruptions();
}

}  // namespace verbatim::supervisor

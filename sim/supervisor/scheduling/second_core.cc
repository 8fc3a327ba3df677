#include "sim/supervisor/scheduling/second_core.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

namespace verbatim::supervisor {

namespace {

// Parses a list of processors as in /sys, for example "0,4-6".
std::set<int> processors_in(const std::string& text) {
  std::set<int> found;
  std::istringstream ranges(text);
  for (std::string range; std::getline(ranges, range, ',');) {
    const std::size_t dash = range.find('-');
    const int first = std::atoi(range.c_str());
    const int last = dash == std::string::npos ? first : std::atoi(range.c_str() + dash + 1);
    for (int processor = first; processor <= std::min(last, CPU_SETSIZE); ++processor) found.insert(processor);
  }
  return found;
}

// Hardware threads of the processor's core. Polling on one of them slows the others down.
std::set<int> siblings_of(int processor) {
  std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", processor));
  std::string text;
  std::getline(file, text);
  return processors_in(text);
}

int chosen_second(int program_core, const cpu_set_t& allowed) {
  const std::set<int> avoided = siblings_of(program_core);
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

std::int64_t interruptions_so_far() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
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

// Number of runnable threads on this machine, including the caller; 0: unknown.
int running_threads() {
  std::ifstream file("/proc/loadavg");
  std::string load;
  int running = 0;
  for (int i = 0; i < 3; ++i) file >> load;
  file >> running;
  return file ? running : 0;
}

// True if nothing else runs, except for one thread for each four processors beyond the two that are used
// here.
bool others_are_idle(const cpu_set_t& allowed) {
  constexpr int kForUs = 2, kOfProcessors = 4;
  const int running = running_threads();
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

SecondCore::SecondCore(SecondCoreUse use, int program_core, const cpu_set_t& allowed)
    : use_(use), program_core_(program_core) {
  if (use_ == SecondCoreUse::kNever) return;
  core_ = chosen_second(program_core, allowed);
  if (use_ == SecondCoreUse::kWhenFree) {
    std::ifstream groups("/proc/self/cgroup");
    const std::string text((std::istreambuf_iterator<char>(groups)), {});
    if (is_limited_to_less_than_two(text, "/sys/fs/cgroup")) core_ = -1;
  }
  if (use_ == SecondCoreUse::kAlways) move_to(true);
  if (use_ != SecondCoreUse::kWhenFree || core_ < 0 || !others_are_idle(allowed)) return;
  move_to(true);
  second_before_ = used_;
  next_trial_ = Clock::now() + kLeastPause;
}

void SecondCore::review() {
  if (core_ < 0) return;
  if (used_) hand_overs_on_it_ += kReviewed;
  slow_.begin();
  switch (use_) {
    case SecondCoreUse::kChanging:
      // At times that no program can predict and that differ between runs.
      if ((Clock::now().time_since_epoch().count() >> 4) % 2 == 0) move_to(!used_);
      return;
    case SecondCoreUse::kWhenFree:
      return review_free(Clock::now());
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
  const Ticks before = std::exchange(ticks_, ticks());
  const bool recently = now - std::exchange(watched_, now) < 10 * kWatched;
  return recently && ticks_.all > before.all && (ticks_.idle - before.idle) * 10 >= (ticks_.all - before.all) * 9;
}

// True if other threads preempted the simulator more than four times per kJudged since the last check, which
// is at least kJudged ago.
bool SecondCore::is_second_wanted(Clock::time_point now) {
  if (now - judged_ < kJudged) return false;
  const auto periods = (now - std::exchange(judged_, now)) / kJudged;
  const std::int64_t now_interrupted = interruptions_so_far();
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
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(second ? core_ : program_core_, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return;
  used_ = second;
  if (!used_) return;
  if (looks_ == 0) looks_ = looks_in(kLook);
  judged_ = Clock::now();
  interruptions_ = interruptions_so_far();
}

SecondCore::Ticks SecondCore::ticks() const {
  std::ifstream file("/proc/stat");
  const std::string wanted = fmt::format("cpu{}", core_);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    if (!(words >> name) || name != wanted) continue;
    // user, nice, system, idle, iowait, …
    constexpr int kIdle = 3, kWaiting = 4;
    Ticks found;
    std::uint64_t value;
    for (int i = 0; words >> value; ++i) {
      found.all += value;
      if (i == kIdle || i == kWaiting) found.idle += value;
    }
    return found;
  }
  return {};
}

}  // namespace verbatim::supervisor

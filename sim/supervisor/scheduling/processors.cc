#include "sim/supervisor/scheduling/processors.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace verbatim::supervisor {

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

}  // namespace

std::set<int> processors_in(const std::string& text) {
  std::set<int> found;
  std::istringstream ranges(text);
  for (std::string range; std::getline(ranges, range, ',');) {
    const std::size_t dash = range.find('-');
    const int first = std::atoi(range.c_str());
    const int last = dash == std::string::npos ? first : std::atoi(range.c_str() + dash + 1);
    for (int processor = first; processor <= std::min(last, CPU_SETSIZE); ++processor)
      found.insert(processor);
  }
  return found;
}

int running_threads_in(const std::string& text) {
  std::istringstream words(text);
  std::string load;
  int running = 0;
  for (int i = 0; i < 3; ++i) words >> load;
  words >> running;
  return words ? running : 0;
}

ProcessorTicks ticks_in(const std::string& text, int processor) {
  std::istringstream lines(text);
  const std::string wanted = fmt::format("cpu{}", processor);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    if (!(words >> name) || name != wanted) continue;
    // user, nice, system, idle, iowait, …
    constexpr int kIdle = 3, kWaiting = 4;
    ProcessorTicks found;
    std::uint64_t value;
    for (int i = 0; words >> value; ++i) {
      found.all += value;
      if (i == kIdle || i == kWaiting) found.idle += value;
    }
    return found;
  }
  return {};
}

bool Processors::run_on(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

std::set<int> Processors::siblings_of(int processor) const {
  return processors_in(
      text_of(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", processor)));
}

int Processors::running_threads() const { return running_threads_in(text_of("/proc/loadavg")); }

ProcessorTicks Processors::ticks(int processor) const { return ticks_in(text_of("/proc/stat"), processor); }

std::int64_t Processors::interruptions() const {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

std::string Processors::control_groups() const { return text_of("/proc/self/cgroup"); }

Processors& Processors::of_machine() {
  static Processors of_this;
  return of_this;
}

}  // namespace verbatim::supervisor

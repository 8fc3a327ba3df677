#include "sim/supervisor/scheduling/processor_time.h"

#include <time.h>

namespace verbatim::supervisor {

std::optional<std::chrono::nanoseconds> processor_time(pid_t pid) {
  clockid_t clock;
  timespec time;
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return std::nullopt;
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace verbatim::supervisor

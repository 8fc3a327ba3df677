// CPU time of all child processes that have ended: more meaningful than wall time on a busy machine.
#pragma once

#include <sys/resource.h>

namespace verbatim::support {

// Seconds, of the simulator and its programs.
inline double cpu_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace verbatim::support

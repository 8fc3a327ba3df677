#include "tools/verbatim/run_progress.h"

#include <cstdio>

namespace verbatim::cli {

void RunProgress::show() {
  char line[160];
  std::snprintf(line, sizeof line, "virtual time %.3f ms, %llu events, %llu packets",
                static_cast<double>(to_ps(engine_.now())) / 1e9, static_cast<unsigned long long>(engine_.events_executed()),
                static_cast<unsigned long long>(packets_()));
  const bool has_end = end_ < kEndOfTime;
  const double part = has_end ? static_cast<double>(to_ps(engine_.now())) / static_cast<double>(to_ps(end_)) : 0;
  const std::string left = has_end ? progress_.left(part) : "";
  progress_.show(line + (left.empty() ? "" : left + " at most"));
}

}  // namespace verbatim::cli

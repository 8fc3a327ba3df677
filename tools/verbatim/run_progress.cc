#include "tools/verbatim/run_progress.h"

#include "sim/core/time_text.h"

namespace verbatim::cli {

void RunProgress::show() {
  const std::string line =
      join("virtual time ", time_text(engine_.now()), ", ", engine_.events_executed(), " events, ", packets_(), " packets");
  const bool has_end = end_ < kEndOfTime;
  const double part = has_end ? static_cast<double>(to_ps(engine_.now())) / static_cast<double>(to_ps(end_)) : 0;
  const std::string left = has_end ? progress_.left(part) : "";
  progress_.show(line + (left.empty() ? "" : left + " at most"));
}

}  // namespace verbatim::cli

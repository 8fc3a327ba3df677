// A failure made small: the fewest decisions that still bring it about.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "sim/explore/decision.h"
#include "tools/verbatim/explorer.h"
#include "tools/verbatim/progress.h"

namespace verbatim::cli {

struct Shrunk {
  std::vector<explore::Decision> decisions;
  RunReport report;               // of the run with these
  std::size_t runs = 0;           // that it took
  bool is_reproducible = false;   // the decisions as they were given brought the failure about again
  bool ran_out_of_time = false;   // it may be possible to leave out more
};

// `signature`: of the failure, as RunReport::signature() gives it. `wall_limit` is looked at between runs. `progress` tells
// of them.
Shrunk shrink(ScheduleRuns& runs, const std::vector<explore::Decision>& decisions, const std::string& signature,
              std::chrono::steady_clock::duration wall_limit, Progress& progress);

explore::Schedule schedule_of(std::vector<explore::Decision> decisions);

}  // namespace verbatim::cli

// A failure made small: the fewest decisions that still bring it about, and the least arguments of the commands.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/explore/decision.h"
#include "tools/verbatim/schedule_runs.h"
#include "tools/verbatim/progress.h"

namespace verbatim::cli {

struct Shrunk {
  std::vector<explore::Decision> decisions;
  config::ArgumentValues arguments;  // all that have a range
  RunReport report;               // of the run with these
  std::size_t runs = 0;           // that it took
  bool is_reproducible = false;   // the decisions as they were given brought the failure about again
  bool ran_out_of_time = false;   // it may be possible to leave out more
  // Runs that explain the failure are abandoned then. nullopt: they may take as long as they do.
  std::optional<std::chrono::steady_clock::time_point> explain_until;
};

// `signature`: of the failure, as RunReport::signature() gives it. Runs that have not ended after `wall_limit` are
// abandoned; what was reached by then is kept, and explaining it may take as long once more. `progress` shows how far it is.
// It leaves the smaller arguments set in `runs`, so that further runs show the smaller failure.
Shrunk shrink(ScheduleRuns& runs, const std::vector<explore::Decision>& decisions, const std::string& signature,
              std::chrono::steady_clock::duration wall_limit, Progress& progress);

// By name: its range, its value in the run that was found, and in the small one.
nlohmann::ordered_json arguments_json(const RunPlan& plan, const Shrunk& small);

explore::Schedule schedule_of(std::vector<explore::Decision> decisions);

}  // namespace verbatim::cli

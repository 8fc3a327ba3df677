// Shrinks a failure: the fewest decisions that still cause it, and the smallest arguments of the commands.
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
  config::ArgumentValues arguments;  // of all arguments with a range
  RunReport report;               // of the run with these
  std::size_t runs = 0;           // runs that it took
  bool is_reproducible = false;   // the given decisions caused the failure again
  bool ran_out_of_time = false;   // further decisions might be removable
  // Time at which runs that explain the failure are abandoned; nullopt: no limit.
  std::optional<std::chrono::steady_clock::time_point> explain_until;
};

// `signature` is RunReport::signature() of the failure. After `wall_limit` unfinished runs are abandoned and
// the smallest failure so far is returned; explaining it may take the same time again. `progress` shows the
// state. The smaller arguments remain set in `runs`, so further runs show the smaller failure.
Shrunk shrink(ScheduleRuns& runs, const std::vector<explore::Decision>& decisions, const std::string& signature,
              std::chrono::steady_clock::duration wall_limit, Progress& progress);

// By name: range, value in the found run, and value in the small one.
nlohmann::ordered_json arguments_json(const RunPlan& plan, const Shrunk& small);

explore::Schedule schedule_of(std::vector<explore::Decision> decisions);

}  // namespace verbatim::cli

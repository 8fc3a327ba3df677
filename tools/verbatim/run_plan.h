// A run, ready to be started: everything has been read and checked.
#pragma once

#include <string>
#include <vector>

#include "sim/config/spec.h"
#include "sim/supervisor/supervisor.h"
#include "tools/verbatim/cli.h"

namespace verbatim::cli {

struct RunPlan {
  config::ScenarioSpec scenario;  // topology and programs, options of the command line applied
  std::vector<supervisor::ProgramSpec> programs;  // in the order of the scenario's
  std::string shim_directory;
  Duration stuck_after = std::chrono::seconds(60);  // wall time
};

int run_once(const RunPlan& plan, const RunOptions& options);
int run_verify(const RunPlan& plan, const RunOptions& options);

}  // namespace verbatim::cli

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

struct SeedRange {
  std::int64_t first = 1, last = 1;
};
// One run for each seed, in processes of their own; prints which are not as expected, and how to repeat them.
int run_seeds(const SeedRange& seeds, const RunOptions& options);

// The words after the program's name that repeat a run; without --out, --trace, --verify and what else only
// shows it.
std::vector<std::string> words_of(const RunOptions& options);
// Starts this program again with those words, its standard output and error in `output`, or to /dev/null when
// that is negative. It ends when this process does. The process id, negative when there is none.
enum class ChildOutput { kInherited, kNone, kFile };
int start_again(std::vector<std::string> words, ChildOutput output, int file = -1);

}  // namespace verbatim::cli

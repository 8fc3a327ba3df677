// A run that has been read and checked, and can be started.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/arguments.h"
#include "sim/config/load.h"
#include "sim/config/spec.h"
#include "sim/explore/schedule.h"
#include "sim/observe/watched.h"
#include "sim/supervisor/supervisor.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/debugger.h"

namespace verbatim::cli {

class RootBundle;

struct SeedRange {
  std::int64_t first = 1, last = 1;
};

// Limits of a run with programs, if none is given: virtual time at which it ends, and virtual time after which it is a
// hang if only timers have fired meanwhile (Limits::without_progress).
inline constexpr Duration kDefaultTimeLimit = std::chrono::hours(24);
inline constexpr Duration kTimeWithoutProgress = std::chrono::minutes(10);
// Wall time of each run of --seeds.
inline constexpr Duration kWallLimitOfSeed = std::chrono::minutes(10);

struct RunPlan {
  config::ScenarioSpec scenario;  // with options of the command line applied
  std::vector<std::string> warnings;  // of the scenario
  std::vector<supervisor::ProgramSpec> programs;  // in the order of the scenario's
  std::string shim_directory;
  Duration stuck_after = std::chrono::seconds(60);  // wall time
  Duration wall_limit{0};  // the run is ended after this wall time; 0: it is not
  Duration series_step = std::chrono::microseconds(10);  // of --series; 0: a line for each change
  observe::WatchSet watch;                                  // of --trace, --pcap and --record
  std::optional<SeedRange> seeds;                   // several runs, one for each seed
  std::optional<explore::Schedule> schedule;        // source of choices; nullopt: the scenario's freedom
  code::CodeFiles* code_files = nullptr;            // analysed earlier; nullptr: analysed by the run itself
  supervisor::RunAfterRun* run_after_run = nullptr;  // see SupervisorOptions; set if the process continues after the run
  std::optional<DebuggerSpec> debugger;
  supervisor::TerminalUser* terminal_user = nullptr;  // see SupervisorOptions
  bool views_working_folders = false;          // see SupervisorOptions
  std::shared_ptr<BundleRun> bundle;           // of this run; nullptr: none
  std::shared_ptr<RootBundle> root;            // of the scenario; nullptr: none
  supervisor::MachineFiles* machine_files = nullptr;  // see SupervisorOptions
  supervisor::FolderSnapshot working_snapshot;  // see SupervisorOptions; no entries: none
  std::string fail_on;  // regular expression (ECMAScript): a matching line of output makes the run a failure; empty: none
};

// Reads and checks everything that a run needs. nullopt, after error messages, if it cannot be started.
std::optional<RunPlan> make_plan(const RunOptions& options, const config::LoadOptions& load_options);

// Logs warnings about its topology. Returns false, after an error message, if it cannot be run. Silent in the
// processes of --verify, which would repeat the messages.
bool warn_of_topology(const RunPlan& plan, const RunOptions& options);

// Sets arguments of the plan's commands; values must be in range.
void set_arguments(RunPlan& plan, const config::ArgumentValues& values);
// The values as command line words, each NAME=NUMBER.
std::vector<std::string> words_of(const config::ArgumentValues& values);

// A duration above zero given with `option`; nullopt if `text` is empty or, with a finding, invalid.
std::optional<Duration> parse_limit(const char* option, const std::string& text, config::Diagnostics& diagnostics);

// The value of --series-step, if given.
std::optional<Duration> parse_series_step(const RunOptions& options, config::Diagnostics& diagnostics);

// The program named by --gdb; nullopt if not given or, with a finding, invalid.
std::optional<DebuggerSpec> find_debugged(const config::ScenarioSpec& scenario, const RunOptions& options,
                                          config::Diagnostics& diagnostics);

// Applies the options of a replay. Returns false, after error messages, if they are invalid.
bool show_as(const RunOptions& show, RunPlan& plan, RunOptions& options);

class Answer;
struct RunReport;
// `report` gets the result; `answer` gets the entries "run" and "wrong". Both may be nullptr.
int run_once(const RunPlan& plan, const RunOptions& options, RunReport* report = nullptr, Answer* answer = nullptr);
// `answer` gets the same entries and "verify".
int run_verify(const RunPlan& plan, const RunOptions& options, Answer* answer = nullptr);

// Runs each of the plan's seeds in a process of its own; reports unexpected results and how to repeat them. Divides
// them into shares, runs a share or collects results if the options ask for that. `files` are those of the plan.
int run_seeds(const RunPlan& plan, const RunOptions& options, const config::FileTexts& files, Answer& answer);

// The command line words that repeat a run, without --out, --trace, --verify and other options that only
// affect output.
std::vector<std::string> words_of(const RunOptions& options);
// Starts this program again with these words; `output` selects its standard output and error (kAnswerInFile:
// standard output only). It is killed when this process ends. Returns the process id, negative on failure.
enum class ChildOutput { kInherited, kNone, kFile, kAnswerInFile };
pid_t start_again(std::vector<std::string> words, ChildOutput output, int file = -1);
// Runs `body` in a forked process, whose exit code is its result; otherwise like start_again().
pid_t start_child(ChildOutput output, int file, const std::function<int()>& body);

}  // namespace verbatim::cli

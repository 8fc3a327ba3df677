// A run, ready to be started: everything has been read and checked.
#pragma once

#include <sys/types.h>

#include <functional>
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

struct SeedRange {
  std::int64_t first = 1, last = 1;
};

struct RunPlan {
  config::ScenarioSpec scenario;  // topology and programs, options of the command line applied
  std::vector<supervisor::ProgramSpec> programs;  // in the order of the scenario's
  std::string shim_directory;
  Duration stuck_after = std::chrono::seconds(60);  // wall time
  Duration series_step = std::chrono::microseconds(10);  // of --series; 0: a line for each change
  observe::WatchSet watch;                                  // of --trace, --pcap and --record
  std::optional<SeedRange> seeds;                   // not one run, but one for each of these
  std::optional<explore::Schedule> schedule;        // who chooses; nullopt: as the scenario's freedom says
  code::CodeFiles* code_files = nullptr;            // searched before; nullptr: by the run itself
  supervisor::RunAfterRun* run_after_run = nullptr;  // see SupervisorOptions; not nullptr: the process goes on afterwards
  std::optional<DebuggerSpec> debugger;
  supervisor::TerminalUser* terminal_user = nullptr;  // see SupervisorOptions
  bool views_working_folders = false;          // see SupervisorOptions
  supervisor::FolderSnapshot working_snapshot;  // likewise; without entries: none
  std::string fail_on;  // regular expression (ECMAScript): a line of output that it finds makes the run a failure; empty: none
};

// Reads and checks everything that a run needs. nullopt: it cannot be started, and what is wrong has been printed.
std::optional<RunPlan> make_plan(const RunOptions& options, const config::LoadOptions& load_options);

// Logs what is unusual in its topology. False: it cannot be run, and why has been printed. It says nothing in the processes that
// --verify starts, which would repeat it.
bool warn_of_topology(const RunPlan& plan, const RunOptions& options);

// Gives arguments of the plan's commands these values, which are within their ranges.
void set_arguments(RunPlan& plan, const config::ArgumentValues& values);
// As the command line has them: each NAME=NUMBER.
std::vector<std::string> words_of(const config::ArgumentValues& values);

// A duration above zero, given with `option`; nothing when `text` is empty or it is a finding.
std::optional<Duration> parse_limit(const char* option, const std::string& text, config::Diagnostics& diagnostics);

// As --series-step has it, if it is given.
std::optional<Duration> parse_series_step(const RunOptions& options, config::Diagnostics& diagnostics);

// What --gdb names; nothing when it is not given or a finding.
std::optional<DebuggerSpec> find_debugged(const config::ScenarioSpec& scenario, const RunOptions& options,
                                          config::Diagnostics& diagnostics);

// What a replay is asked to show, and how it is run. False: something of it is wrong, and what has been printed.
bool show_as(const RunOptions& show, RunPlan& plan, RunOptions& options);

class Answer;
struct RunReport;
// `report`: is told how the run went; `answer`: gets the entries "run" and "wrong"; nullptr: nobody asks.
int run_once(const RunPlan& plan, const RunOptions& options, RunReport* report = nullptr, Answer* answer = nullptr);
// `answer`: gets the same, and "verify".
int run_verify(const RunPlan& plan, const RunOptions& options, Answer* answer = nullptr);

// One run for each of the plan's seeds, in processes of their own; tells which are not as expected, and how to repeat them.
int run_seeds(const RunPlan& plan, const RunOptions& options, Answer& answer);

// The words after the program's name that repeat a run; without --out, --trace, --verify and what else only
// shows it.
std::vector<std::string> words_of(const RunOptions& options);
// Starts this program again with those words, its standard output and error where `output` says; of kAnswerInFile its standard
// output alone. It ends when this process does. The process id, negative when there is none.
enum class ChildOutput { kInherited, kNone, kFile, kAnswerInFile };
pid_t start_again(std::vector<std::string> words, ChildOutput output, int file = -1);
// Does `body` in a process of its own, which ends with what it returns; otherwise like start_again().
pid_t start_child(ChildOutput output, int file, const std::function<int()>& body);

}  // namespace verbatim::cli

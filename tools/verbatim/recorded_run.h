// A run that has left something to read: the folder of --out, a recording, or a trace.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/observe/failure_causes.h"
#include "sim/observe/recording.h"
#include "sim/observe/trace_line.h"
#include "tools/verbatim/run_overview.h"

namespace verbatim::cli {

// In the folder of --out, with --keep-trace: the trace, where in the programs requests were posted, and what else a report
// is made of.
inline constexpr char kTraceFile[] = "trace.txt";
inline constexpr char kCallsFile[] = "calls.txt";
inline constexpr char kFactsFile[] = "facts.txt";

struct RecordedRun {
  std::string folder;                    // empty: a trace alone
  nlohmann::json report;                 // run.json; null where there is none
  std::map<std::string, std::string> outputs;  // of a recording: what "server stdout" got
  std::vector<observe::TraceLine> facts;  // what no record holds (run_facts.h), in the order of time
  std::optional<RunOverview> overview;   // where it was kept
  std::vector<observe::TraceLine> lines;  // of the trace, and of the calls, in the order of time; empty where there is none
};

// Which events of the trace somebody wants; without one they are all read.
using WantsEvent = bool (*)(std::string_view event);

// `path`: the folder, its run.json, a recording, or a trace, the last two also from a pipe. nullopt, and a sentence: it is none
// of them, is damaged, or is larger than its kind may be.
std::optional<RecordedRun> read_run(const std::string& path, std::string* failure, WantsEvent wants = nullptr);
// The content of a recording. kUnusable: `run` has a part at most. What was cut off is read as far as it goes.
observe::RecordingResult read_run_recording(std::string_view file, RecordedRun* run, WantsEvent wants = nullptr);
// Its entries as they are before compression.
observe::RecordingResult read_run_entries(std::string_view entries, RecordedRun* run, WantsEvent wants = nullptr);

nlohmann::ordered_json to_json(const std::vector<observe::Failure>& failures);
// And back; entries that are no failures are left out.
std::vector<observe::Failure> failures_from(const nlohmann::json& json);

}  // namespace verbatim::cli

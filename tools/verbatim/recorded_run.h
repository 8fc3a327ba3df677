// A recorded run: the folder of --out, a recording, or a trace.
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

// Files in the folder of --out with --keep-trace: the trace, source locations of posted requests, and further
// input of reports.
inline constexpr char kTraceFile[] = "trace.txt";
inline constexpr char kCallsFile[] = "calls.txt";
inline constexpr char kFactsFile[] = "facts.txt";

// Name of the recording in a bundle.
inline constexpr const char* kRecordingOfBundle = "recording";

struct RecordedRun {
  std::string folder;                    // empty: a trace without a folder
  nlohmann::json report;                 // run.json; null if there is none
  std::map<std::string, std::string> outputs;  // of a recording: the text of "server stdout"
  std::vector<observe::TraceLine> facts;  // not in the trace (run_facts.h), in the order of time
  std::optional<RunOverview> overview;   // nullopt: not recorded
  std::vector<observe::TraceLine> lines;  // trace and calls, in the order of time; may be empty
};

// Selects events of the trace to read; null: all.
using WantsEvent = bool (*)(std::string_view event);

// `path` is the folder, its run.json, a recording, or a trace; the last two may be pipes. nullopt, with a
// sentence, if it is none of these, is damaged, or is too large for its kind.
std::optional<RecordedRun> read_run(const std::string& path, std::string* failure, WantsEvent wants = nullptr);
// Reads a recording's content. With kUnusable, `run` is incomplete. A truncated recording is read up to its
// end.
observe::RecordingResult read_run_recording(std::string_view file, RecordedRun* run, WantsEvent wants = nullptr);
// Reads a recording's uncompressed entries.
observe::RecordingResult read_run_entries(std::string_view entries, RecordedRun* run, WantsEvent wants = nullptr);

nlohmann::ordered_json to_json(const std::vector<observe::Failure>& failures);
// The inverse; invalid entries are left out.
std::vector<observe::Failure> failures_from(const nlohmann::json& json);

}  // namespace verbatim::cli

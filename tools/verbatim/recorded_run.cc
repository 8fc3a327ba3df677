#include "tools/verbatim/recorded_run.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "sim/bundle/bundle.h"
#include "sim/config/file_kind.h"
#include "sim/core/input_file.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/interrupted.h"
#include "tools/verbatim/run_json.h"

namespace verbatim::cli {

namespace fs = std::filesystem;

namespace {

// Whether the file begins like a replay file.
bool is_replay_file(std::string_view begin) {
  const std::size_t key = begin.find_first_not_of("{ \t\r\n");
  return begin.starts_with('{') && key != begin.npos && begin.substr(key).starts_with("\"replay\":");
}

// Name for a recording of a replay file: "race.rec" for "out/race.replay".
std::string recording_beside(const std::string& path) { return config::shell_word(fs::path(path).stem().string() + ".rec"); }

// Reads a recording or a trace. nullopt, with a sentence, if it is neither.
std::optional<RecordedRun> read_file(const std::string& path, InputFile& file, std::string* failure, WantsEvent wants) {
  RecordedRun run;
  const auto refuse = [&](std::string sentence) {
    *failure = std::move(sentence);
    return std::nullopt;
  };
  constexpr std::size_t kBeginning = 64;  // bytes that identify all kinds
  const std::string beginning(file.peek(kBeginning));
  if (observe::is_recording(beginning)) {
    const auto content = file.rest(InputFile::kMostText);
    if (!content) return refuse(path + " " + file.problem());
    const observe::RecordingResult result = read_run_recording(*content, &run, wants);
    const bool is_cut_off = result.kind == observe::RecordingResult::Kind::kCutOff && !run.lines.empty();
    if (!is_cut_off && result.kind != observe::RecordingResult::Kind::kWhole) return refuse(path + " " + result.sentence);
    if (is_cut_off) complain("warning: " + path + " " + result.sentence);
    return run;
  }
  auto lines = observe::read_trace(file);
  if (!lines) return refuse(path + " " + file.problem());
  if (lines->empty() && is_replay_file(beginning))
    return refuse(path + " is a replay file; `verbatim replay --record " + recording_beside(path) + " " + config::shell_word(path) +
                  "` makes a recording of its run, which this command reads");
  if (lines->empty()) return refuse(path + " holds no record of a trace; `verbatim run --trace FILE` writes one");
  run.lines = std::move(*lines);
  return run;
}

// Reads the trace of a run's folder, if there is one. Returns false, with a sentence, if it cannot be read.
bool read_trace_of_folder(const std::string& path, std::vector<observe::TraceLine>* lines, std::string* failure) {
  InputFile file(path);
  if (file.is_missing()) return true;
  auto read = observe::read_trace(file);
  if (!read) *failure = path + " " + file.problem();
  if (read) lines->insert(lines->end(), std::make_move_iterator(read->begin()), std::make_move_iterator(read->end()));
  return read.has_value();
}

// Reads the overview of a run's folder, if there is one. Returns false, with a sentence, if it cannot be
// read.
bool read_overview_of_folder(const std::string& path, RecordedRun* run, std::string* failure) {
  InputFile file(path);
  if (file.is_missing()) return true;
  const auto content = file.problem().empty() ? file.rest(InputFile::kMostText) : std::nullopt;
  std::string problem = content ? "" : file.problem();
  if (content && !run->overview.emplace().read(*content, &problem)) problem = "is damaged: " + problem;
  if (!problem.empty()) *failure = path + " " + problem;
  return problem.empty();
}

std::optional<RecordedRun> read_folder(const std::string& path, const std::string& folder, std::string* failure) {
  RecordedRun run;
  run.folder = folder;
  const std::string report = folder + "/run.json";
  std::error_code error;
  if (!fs::exists(report, error)) {
    *failure = fs::exists(folder + "/explore.json", error)
                   ? path + " is a folder of `verbatim explore`, which keeps a replay file for each failure; name a recording: `verbatim replay --record "
                     "FILE REPLAY` makes one of a replay file, and `verbatim explore --record` makes them at once"
                   : path + " is no folder of a run: it has no run.json; `verbatim run --out FOLDER` writes one";
    return std::nullopt;
  }
  auto json = read_run_json(report, failure);
  if (!json) return std::nullopt;
  run.report = std::move(*json);
  for (const char* name : {kTraceFile, kCallsFile}) {
    if (!read_trace_of_folder(folder + "/" + name, &run.lines, failure)) return std::nullopt;
  }
  if (!read_trace_of_folder(folder + "/" + kFactsFile, &run.facts, failure)) return std::nullopt;
  if (!read_overview_of_folder(folder + "/" + kOverviewFile, &run, failure)) return std::nullopt;
  for (auto* const lines : {&run.lines, &run.facts}) std::ranges::stable_sort(*lines, {}, &observe::TraceLine::time_ps);
  return run;
}

// The recording in a bundle, through a file that is removed again.
std::optional<RecordedRun> read_bundle(const std::string& path, std::string* failure, WantsEvent wants) {
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  const auto opened = bundle::Bundle::open(path, failure);
  if (!opened) return std::nullopt;
  if (!opened->index().documents.contains(kRecordingOfBundle)) {
    *failure = path + " has no recording; `verbatim pack --record` puts one into a bundle";
    return std::nullopt;
  }
  const auto text = opened->document(kRecordingOfBundle, failure, kMost);
  if (!text) return std::nullopt;
  std::error_code error;
  const TemporaryFolder folder(fs::temp_directory_path(error).string() + "/verbatim-report-XXXXXX");
  const std::string recording = folder.path() + "/" + kRecordingOfBundle;
  if (folder.path().empty() || !(std::ofstream(recording, std::ios::binary) << *text).flush()) {
    *failure = path + ": its recording cannot be written to " + fs::temp_directory_path(error).string() + " (set TMPDIR)";
    return std::nullopt;
  }
  InputFile file(recording, InputFile::Accepts::kRegularFilesAndPipes);
  return read_file(path, file, failure, wants);
}

}  // namespace

std::optional<RecordedRun> read_run(const std::string& path, std::string* failure, WantsEvent wants) {
  std::error_code error;
  if (fs::is_directory(path, error)) return read_folder(path, path, failure);
  if (fs::path(path).filename() == "run.json") {
    const std::string folder = fs::path(path).parent_path().string();
    return read_folder(path, folder.empty() ? "." : folder, failure);
  }
  if (bundle::is_bundle(path)) return read_bundle(path, failure, wants);
  InputFile file(path, InputFile::Accepts::kRegularFilesAndPipes);
  if (file.problem().empty()) return read_file(path, file, failure, wants);
  *failure = file.is_missing() ? "there is no " + path : path + " " + file.problem() + "; name a recording, a trace or the folder of a run";
  return std::nullopt;
}

nlohmann::ordered_json to_json(const std::vector<observe::Failure>& failures) {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const observe::Failure& failure : failures) {
    Json causes = Json::array();
    for (const observe::FailureCause& cause : failure.causes) causes.push_back({{"evidence", cause.evidence}, {"remedy", cause.remedy}});
    all.push_back({{"time_ps", failure.time_ps},
                   {"what", failure.what},
                   {"subject", failure.subject},
                   {"is_finding", failure.is_finding},
                   {"causes", std::move(causes)}});
  }
  return all;
}

std::vector<observe::Failure> failures_from(const nlohmann::json& json) {
  std::vector<observe::Failure> failures;
  const auto text = [](const nlohmann::json& entry, const char* name) {
    const auto found = entry.find(name);
    return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  for (const nlohmann::json& entry : json) {
    if (!entry.is_object() || !entry.contains("time_ps") || !entry["time_ps"].is_number_integer()) continue;
    observe::Failure failure{entry["time_ps"], text(entry, "what"), text(entry, "subject"), {}, entry.value("is_finding", nlohmann::json()) == true};
    if (const auto causes = entry.find("causes"); causes != entry.end() && causes->is_array()) {
      for (const nlohmann::json& cause : *causes) {
        if (cause.is_object()) failure.causes.push_back({text(cause, "evidence"), text(cause, "remedy")});
      }
    }
    failures.push_back(std::move(failure));
  }
  return failures;
}

}  // namespace verbatim::cli

#include "tools/verbatim/recorded_run.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "sim/config/file_kind.h"
#include "sim/observe/recording.h"
#include "tools/verbatim/cli.h"

namespace verbatim::cli {

namespace fs = std::filesystem;

namespace {

// Whether a file begins as replay files do.
bool is_replay_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(64, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  const std::size_t key = begin.find_first_not_of("{ \t\r\n");
  return begin.starts_with('{') && key != begin.npos && begin.compare(key, 9, "\"replay\":") == 0;
}

// "race.rec" for "out/race.replay".
std::string recording_beside(const std::string& path) { return config::shell_word(fs::path(path).stem().string() + ".rec"); }

}  // namespace

std::optional<RecordedRun> read_run(const std::string& path, std::string* failure, WantsEvent wants) {
  RecordedRun run;
  std::error_code error;
  const auto refuse = [&](std::string sentence) {
    *failure = std::move(sentence);
    return std::nullopt;
  };
  if (!fs::exists(path, error)) return refuse("there is no " + path);
  const fs::file_status status = fs::status(path, error);
  // A device may give bytes without end.
  if (!fs::is_regular_file(status) && !fs::is_directory(status) && !fs::is_fifo(status))
    return refuse(path + " is a device or a socket; name a recording, a trace or the folder of a run");
  if (!fs::is_directory(path, error) && fs::path(path).filename() != "run.json") {
    if (observe::is_recording(path)) {
      std::string damage;
      if (!read_run_recording(path, &run, &damage, wants)) return refuse(damage);
      if (!damage.empty()) complain("warning: " + damage);
      return run;
    }
    auto lines = observe::read_trace(path);
    if (!lines) return refuse(path + " cannot be read: " + std::strerror(errno));
    if (lines->empty() && is_replay_file(path))
      return refuse(path + " is a replay file; `verbatim replay --record " + recording_beside(path) + " " + config::shell_word(path) +
                    "` makes a recording of its run, which this command reads");
    if (lines->empty()) return refuse(path + " holds no record of a trace; `verbatim run --trace FILE` writes one");
    run.lines = std::move(*lines);
    return run;
  }
  run.folder = fs::is_directory(path, error) ? path : fs::path(path).parent_path().string();
  if (run.folder.empty()) run.folder = ".";
  std::ifstream file(run.folder + "/run.json");
  if (!file && fs::exists(run.folder + "/explore.json", error))
    return refuse(path + " is a folder of `verbatim explore`, which keeps a replay file for each failure; name a recording: `verbatim replay --record "
                  "FILE REPLAY` makes one of a replay file, and `verbatim explore --record` makes them at once");
  if (!file) return refuse(path + " is no folder of a run: it has no run.json; `verbatim run --out FOLDER` writes one");
  run.report = nlohmann::json::parse(file, nullptr, false);
  if (!run.report.is_object()) return refuse(run.folder + "/run.json is not what a run writes");
  for (const char* name : {kTraceFile, kCallsFile}) {
    auto lines = observe::read_trace(run.folder + "/" + name);
    if (lines) run.lines.insert(run.lines.end(), std::make_move_iterator(lines->begin()), std::make_move_iterator(lines->end()));
  }
  if (auto facts = observe::read_trace(run.folder + "/" + kFactsFile)) run.facts = std::move(*facts);
  std::ranges::stable_sort(run.lines, {}, &observe::TraceLine::time_ps);
  return run;
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

#include "tools/verbatim/replay_file.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

#include "sim/observe/folder_content.h"
#include "tools/verbatim/decision_json.h"
#include "tools/verbatim/fail_pattern.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/whole_number.h"
#include "tools/verbatim/working_files.h"

namespace verbatim::cli {

using Json = nlohmann::ordered_json;

namespace {
constexpr int kFormat = 2;
}

std::string text_of(const ReplayFile& replay) {
  Json contents = Json::array();
  for (const ReplayFile::Content& content : replay.contents)
    contents.push_back({{"path", content.path}, {"digest", content.digest}});
  Json files = Json::object();
  for (const auto& [file, text] : replay.files.texts) files[file] = text;
  const Json json = {{"replay", kFormat},
                     {"version", replay.version},
                     {"summary", replay.summary},
                     {"signature", replay.signature},
                     {"freedom", replay.freedom},
                     {"digest", replay.digest.hex},
                     {kDigestVersionKey, replay.digest.version},
                     {"words", replay.words},
                     {"working_directory", replay.working_directory},
                     {"search_path", replay.search_path},
                     {"fail_on", replay.fail_on},
                     {"arguments", replay.arguments},
                     {"decisions", to_json(replay.decisions)},
                     {"contents", contents},
                     {"working_files", to_json(replay.working_files)},
                     {"profile_folders", replay.profile_folders},
                     {"files", files}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string write_replay(const std::string& path, const ReplayFile& replay) { return write_document(path, text_of(replay)); }

bool is_replay(const std::string& path) {
  std::string begin(64, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin.starts_with("{\n  \"replay\": ");
}

std::optional<ReplayFile> read_replay(const std::string& path, std::string* failure) {
  config::Diagnostics diagnostics;
  if (const auto text = config::read_file(path, diagnostics)) return parse_replay(*text, path, failure);
  *failure = path + ": " + diagnostics.findings().front().text;
  return std::nullopt;
}

std::optional<ReplayFile> parse_replay(std::string_view text, const std::string& path, std::string* failure) {
  config::Diagnostics diagnostics;
  const auto json = config::parse_json(text, path, diagnostics);
  if (!json) {
    *failure = config::to_string(diagnostics.findings().front());
    return std::nullopt;
  }
  if (!json->is_object() || !json->contains("replay")) {
    *failure = path + " is not a replay file; `verbatim explore` writes them";
    return std::nullopt;
  }
  ReplayFile replay;
  replay.path = path;
  try {
    if (json->at("replay") != kFormat) {
      *failure = path + " has format " + json->at("replay").dump() + ", and this version reads format " +
                 std::to_string(kFormat) + ": another version wrote it; look for the failure again with `verbatim explore`";
      return std::nullopt;
    }
    json->at("version").get_to(replay.version);
    replay.freedom = json->value("freedom", replay.freedom);
    json->at("summary").get_to(replay.summary);
    json->at("signature").get_to(replay.signature);
    replay.digest = kept_digest_of(*json);
    json->at("words").get_to(replay.words);
    json->at("working_directory").get_to(replay.working_directory);
    json->at("search_path").get_to(replay.search_path);
    json->at("fail_on").get_to(replay.fail_on);
    if (!replay.fail_on.empty()) fail_pattern(replay.fail_on);
    if (const auto arguments = json->find("arguments"); arguments != json->end()) {
      for (const auto& [name, value] : arguments->items()) replay.arguments[name] = whole_number<std::int64_t>(value);
    }
    replay.decisions = decisions_of(json->at("decisions"));
    const auto is_decision = [](const explore::Decision& one) { return one.answer >= 1 && one.answer < one.alternatives; };
    if (!std::ranges::all_of(replay.decisions, is_decision)) throw std::out_of_range("the answer of a decision is none of its alternatives");
    for (const Json& content : json->at("contents")) replay.contents.push_back({content.at("path"), content.at("digest")});
    if (json->contains("working_files")) replay.working_files = snapshot_of(json->at("working_files"));
    json->at("profile_folders").get_to(replay.profile_folders);
    for (const auto& [file, content] : json->at("files").items()) replay.files.texts.emplace(file, content);
    replay.files.are_all = true;
    replay.files.keeper = path;
  } catch (const std::exception& e) {
    *failure = path + " is not a whole replay file: " + e.what();
    return std::nullopt;
  }
  return replay;
}

ReplayFile replay_of(const RunPlan& plan, const RunOptions& options, const config::FileTexts& files, const RunReport& report) {
  ReplayFile file;
  RunOptions repeated = options;
  repeated.call_by_call = false;  // chosen when it is replayed
  file.words = words_of(repeated);
  file.fail_on = plan.fail_on;
  std::error_code error;
  file.working_directory = std::filesystem::current_path(error).string();
  if (const char* path = std::getenv("PATH")) file.search_path = path;
  file.profile_folders = profile_folders();
  file.files = files;
  file.working_files = report.working_files;
  add_digests(file.working_files);
  std::vector<std::string> paths = report.code_files;
  for (const config::ProgramSpec& program : plan.scenario.programs) {
    for (const auto& [path, source] : program.files) paths.push_back(source);
    // Files named by commands, such as scripts, are inputs as well.
    for (const std::string& word : program.command) {
      const std::filesystem::path named = std::filesystem::path(program.working_directory) / word;
      if (std::filesystem::is_regular_file(named, error)) paths.push_back(std::filesystem::absolute(named, error).string());
    }
  }
  std::erase_if(paths, [&](const std::string& path) { return path.starts_with(plan.shim_directory + "/"); });
  if (plan.machine_files != nullptr) {  // they are in the bundle
    paths.clear();
    file.working_files = {};
  }
  file.contents = contents_of(std::move(paths));
  file.freedom = plan.scenario.freedom;
  file.arguments = config::values_of(plan.scenario);
  file.decisions = report.decisions;
  file.signature = report.signature();
  file.summary = report.summary();
  file.digest = {report.digest};
  return file;
}

std::vector<ReplayFile::Content> contents_of(std::vector<std::string> paths) {
  std::ranges::sort(paths);
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  std::vector<ReplayFile::Content> contents;
  for (std::string& path : paths) {
    std::string digest = observe::content_digest(path);
    contents.push_back({std::move(path), std::move(digest)});
  }
  return contents;
}

std::vector<std::string> changes_since(const ReplayFile& replay) {
  std::vector<std::string> changes;
  if (replay.version != VERBATIM_VERSION)
    changes.push_back("it was made by version " + replay.version + ", and this is " VERBATIM_VERSION);
  for (const ReplayFile::Content& content : replay.contents) {
    const std::string now = observe::content_digest(content.path);
    if (now == content.digest) continue;
    changes.push_back(now.empty() ? content.path + " is not there any more, or cannot be read"
                                  : content.path + " has changed");
  }
  return changes;
}

}  // namespace verbatim::cli

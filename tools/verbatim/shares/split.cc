#include "tools/verbatim/shares/split.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "sim/config/json_text.h"
#include "sim/config/words.h"
#include "sim/core/words.h"
#include "sim/observe/digest_sink.h"
#include "sim/observe/folder_content.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/schedule_runs.h"
#include "tools/verbatim/shrink.h"
#include "tools/verbatim/whole_number.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kSplitFormat = 1;

// Options without influence on any unit's result, with a value and without.
constexpr std::string_view kDividing[] = {"--shares", "--out", "--jobs"};
constexpr std::string_view kDividingFlags[] = {"--slurm", "--json", "--quiet"};
constexpr std::string_view kShowing[] = {"--until", "--junit", "--html", "--shrink-time", "--log"};

std::vector<std::string> without(const std::vector<std::string>& words,
                                 std::span<const std::string_view> with_value,
                                 std::span<const std::string_view> flags) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    const auto is = [&](std::span<const std::string_view> names) {
      return std::ranges::find(names, name) != names.end();
    };
    if (is(flags)) continue;
    if (!is(with_value))
      kept.push_back(words[i]);
    else if (words[i] == name)
      ++i;
  }
  return kept;
}

std::string this_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

// Writes a script that runs a share. Returns a sentence on failure, else "".
std::string write_job(const std::string& folder) {
  const std::string path = folder + "/job.sh";
  const std::string text =
      "#!/bin/sh\n"
      "# Runs one share. By hand: job.sh NUMBER. With GNU parallel, on machines that share this folder:\n"
      "#   seq 0 15 | parallel FOLDER/job.sh {} --jobs 1\n"
      "# As a task of a Slurm job array it takes its number and its processors from the environment.\n"
      "share=${1:-$SLURM_ARRAY_TASK_ID}\n"
      "[ $# -gt 0 ] && shift\n"
      "[ -n \"$SLURM_ARRAY_TASK_ID\" ] && set -- --jobs \"${SLURM_CPUS_PER_TASK:-1}\" \"$@\"\n"
      "exec " +
      config::join_words({this_program(), "share"}) + " \"$@\" " + config::join_words({folder}) +
      " \"$share\"\n";
  const std::string failure = write_document(path, text);
  if (failure.empty()) ::chmod(path.c_str(), 0755);
  return failure;
}

}  // namespace

std::vector<std::string> words_of_split(const std::vector<std::string>& words) {
  return without(words, kDividing, kDividingFlags);
}

std::string Split::digest() const {
  observe::DigestSink digest;
  TraceRecord place{};
  const auto add = [&](const std::string& text) {
    ++place.number;
    digest.on_record(place, std::as_bytes(std::span(text)));
  };
  add(version);
  for (const std::string& word : without(words, kShowing, {})) add(word);
  add(working_directory);
  for (const ReplayFile::Content& input : inputs) {
    add(input.path);
    add(input.digest);
  }
  return digest.hex();
}

std::vector<ReplayFile::Content> inputs_of_files(const config::FileTexts& files,
                                                 std::vector<std::string> others) {
  for (const auto& [path, text] : files.texts) others.push_back(path);
  others.push_back(this_program());
  const std::string shim = shim_directory();
  for (const char* const part : kShimParts) others.push_back(shim + "/" + part);
  return contents_of(std::move(others));
}

std::optional<std::vector<ReplayFile::Content>> inputs_of_runs(const RunPlan& plan, const RunOptions& options,
                                                               const config::FileTexts& files,
                                                               const std::vector<std::string>& others) {
  ScheduleRuns runs(plan, options);
  const auto report = runs.run(schedule_of(std::vector<explore::Decision>()), {});
  if (!report || report->outcome.empty()) {
    complain(runs.is_interrupted()
                 ? "interrupted"
                 : "the first run could not be made: " + (report ? report->summary() : runs.machine_fault()));
    return std::nullopt;
  }
  std::vector<std::string> paths = others;
  std::erase(paths, "");
  for (ReplayFile::Content& content : replay_of(plan, options, files, *report).contents)
    paths.push_back(std::move(content.path));
  return inputs_of_files(files, std::move(paths));
}

Split split_of(const std::string& folder, const std::vector<std::string>& words, std::int64_t units,
               std::int64_t shares, std::vector<ReplayFile::Content> inputs) {
  Split split;
  std::error_code error;
  split.folder = fs::absolute(folder, error).lexically_normal().string();
  if (split.folder.ends_with('/')) split.folder.pop_back();
  split.words = words_of_split(words);
  split.working_directory = fs::current_path(error).string();
  if (const char* path = std::getenv("PATH")) split.search_path = path;
  split.units = units;
  split.shares = shares;
  split.inputs = std::move(inputs);
  return split;
}

std::string write_split(const Split& split) {
  std::error_code error;
  fs::create_directories(split.folder + "/results", error);
  if (error) return split.folder + "/results cannot be made: " + error.message();
  if (fs::exists(split.folder + "/split.json", error)) {
    std::string failure;
    const auto old = read_split(split.folder, &failure);
    if (!old) return failure;
    if (old->digest() != split.digest()) {
      std::string why = "the command is another one";
      if (old->version != split.version) why = "it is of version " + old->version;
      for (const ReplayFile::Content& input : split.inputs) {
        const auto before = std::ranges::find(old->inputs, input.path, &ReplayFile::Content::path);
        if (before != old->inputs.end() && before->digest != input.digest)
          why = input.path + " has changed since";
      }
      return split.folder + " has results of other work (" + why + "); name another folder with --out";
    }
  }
  Json inputs = Json::array();
  for (const ReplayFile::Content& input : split.inputs)
    inputs.push_back({{"path", input.path}, {"digest", input.digest}});
  const Json json = {{"split", kSplitFormat},
                     {"version", split.version},
                     {"words", split.words},
                     {"working_directory", split.working_directory},
                     {"search_path", split.search_path},
                     {"units", split.units},
                     {"shares", split.shares},
                     {"digest", split.digest()},
                     {"inputs", inputs}};
  const std::string failure = write_document(split.folder + "/split.json",
                                             json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  return failure.empty() ? write_job(split.folder) : failure;
}

std::optional<Split> read_split(const std::string& folder, std::string* failure) {
  const std::string path = folder + "/split.json";
  config::Diagnostics diagnostics;
  const auto text = config::read_file(path, diagnostics);
  const auto json = text ? config::parse_json(*text, path, diagnostics) : std::nullopt;
  if (!json) {
    *failure = config::to_string(diagnostics.findings().front());
    return std::nullopt;
  }
  Split split;
  std::error_code error;
  split.folder = fs::absolute(folder, error).lexically_normal().string();
  if (split.folder.ends_with('/')) split.folder.pop_back();
  try {
    if (json->at("split") != kSplitFormat) {
      *failure =
          path + " has another format than " + std::to_string(kSplitFormat) + ": another version wrote it";
      return std::nullopt;
    }
    json->at("version").get_to(split.version);
    json->at("words").get_to(split.words);
    json->at("working_directory").get_to(split.working_directory);
    json->at("search_path").get_to(split.search_path);
    split.units = whole_number<std::int64_t>(json->at("units"));
    split.shares = whole_number<std::int64_t>(json->at("shares"));
    for (const Json& input : json->at("inputs"))
      split.inputs.push_back({input.at("path"), input.at("digest")});
    const bool is_sound = split.units >= 0 && split.units <= Split::kMostUnits && split.shares >= 1 &&
                          split.shares <= Split::kMostShares && !split.words.empty() &&
                          json->at("digest").get<std::string>() == split.digest();
    if (!is_sound) {
      *failure = path + " has been changed by hand, or is damaged";
      return std::nullopt;
    }
  } catch (const std::exception& e) {
    *failure = path + " does not describe a split: " + e.what();
    return std::nullopt;
  }
  return split;
}

std::vector<std::string> differences_here(const Split& split) {
  std::vector<std::string> differences;
  if (split.version != VERBATIM_VERSION)
    differences.push_back("verbatim is version " VERBATIM_VERSION ", and the work is of version " +
                          split.version);
  std::vector<std::string> paths;
  for (const ReplayFile::Content& input : split.inputs) paths.push_back(input.path);
  std::map<std::string, std::string> here;
  for (ReplayFile::Content& content : contents_of(std::move(paths)))
    here[content.path] = std::move(content.digest);
  for (const ReplayFile::Content& input : split.inputs) {
    const std::string& digest = here[input.path];
    if (digest == input.digest) continue;
    differences.push_back(input.path +
                          (digest.empty() ? " is missing, or cannot be read" : " has another content"));
  }
  return differences;
}

}  // namespace verbatim::cli

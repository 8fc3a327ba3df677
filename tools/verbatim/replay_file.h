// A failure as a file: everything needed to repeat it, and digests that reveal changes since then.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/load.h"
#include "sim/explore/decision.h"
#include "tools/verbatim/kept_digest.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/run_report.h"

namespace verbatim::cli {

struct ReplayFile {
  std::string path;                        // of the file that was read, for findings about its content
  std::string version = VERBATIM_VERSION;
  std::vector<std::string> words;          // of the command line, from words_of()
  std::string working_directory;
  std::string search_path;                 // caller's PATH, for finding programs
  std::vector<std::string> profile_folders;
  config::FileTexts files;                 // topology, scenario and profiles, complete
  struct Content {
    std::string path, digest;
  };
  std::vector<Content> contents;           // programs, their libraries, files of hosts
  supervisor::FolderSnapshot working_files;  // before the run
  std::string fail_on;
  std::string freedom = "spec";            // informative; other values are in `words`, too
  config::ArgumentValues arguments;        // informative; also in `words`
  std::vector<explore::Decision> decisions;
  std::string signature, summary;          // of the failure
  KeptDigest digest;                       // of the run
};

// The file's content.
std::string text_of(const ReplayFile& replay);
// Whether the file begins as a replay file.
bool is_replay(const std::string& path);
// Returns "" on success, else a sentence.
std::string write_replay(const std::string& path, const ReplayFile& replay);
// nullopt, with a sentence that begins with `path`, if the file cannot be used.
std::optional<ReplayFile> read_replay(const std::string& path, std::string* failure);
// Parses the file's content; `path` is its name in sentences.
std::optional<ReplayFile> parse_replay(std::string_view text, const std::string& path, std::string* failure);

// The replay file of the run of `report`, with its decisions and, if it failed, its failure. `files` are
// those that the plan was loaded from.
ReplayFile replay_of(const RunPlan& plan, const RunOptions& options, const config::FileTexts& files, const RunReport& report);

// Current digests of these files; empty for files that cannot be read.
std::vector<ReplayFile::Content> contents_of(std::vector<std::string> paths);
// One sentence for each file that has changed, is missing, or is not readable.
std::vector<std::string> changes_since(const ReplayFile& replay);

// Gives the plan the decisions of the replay file.
void take_decisions(const ReplayFile& replay, RunPlan& plan);
// The run that repeats the failure; changes to the folder in which it was found. nullopt, after an error
// message, on failure. `replay` must outlive the loading.
// `recorder`: as in RunOptions.
std::optional<std::pair<RunPlan, RunOptions>> plan_of(ReplayFile& replay, supervisor::RecordedFiles* recorder = nullptr);
// The same of a bundle's run, in the caller's folder.
std::optional<std::pair<RunPlan, RunOptions>> plan_of(const std::shared_ptr<BundleRun>& bundle);

}  // namespace verbatim::cli

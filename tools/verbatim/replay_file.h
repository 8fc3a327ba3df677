// A failure as a file: everything that brings it about again, and what tells whether something has changed since.
#pragma once

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
  std::string path;                        // of the file that was read, for findings in what it holds
  std::string version = VERBATIM_VERSION;
  std::vector<std::string> words;          // of the command line, as words_of() gives them
  std::string working_directory;
  std::string search_path;                 // PATH of the caller, by which programs are found
  std::vector<std::string> profile_folders;
  config::FileTexts files;                 // topology, scenario and profiles, whole
  struct Content {
    std::string path, digest;
  };
  std::vector<Content> contents;           // programs, their libraries, files that hosts are given
  supervisor::FolderSnapshot working_files;  // that the run met
  std::string fail_on;
  std::string freedom = "spec";            // for who reads it; it stands in `words`, too, where it is another
  config::ArgumentValues arguments;        // likewise
  std::vector<explore::Decision> decisions;
  std::string signature, summary;          // of the failure
  KeptDigest digest;                       // of the run
};

// Empty on success, else a sentence.
std::string write_replay(const std::string& path, const ReplayFile& replay);
// nullopt: it cannot be used, and a sentence that begins with `path` says why.
std::optional<ReplayFile> read_replay(const std::string& path, std::string* failure);
// The same of the file's content; `path` is its name in sentences.
std::optional<ReplayFile> parse_replay(std::string_view text, const std::string& path, std::string* failure);

// What brings the run of `report` about again: with its decisions, and its failure where it has failed. `files`: those that the
// plan was loaded from.
ReplayFile replay_of(const RunPlan& plan, const RunOptions& options, const config::FileTexts& files, const RunReport& report);

// Digests of these files as they are now; of those that cannot be read, empty ones.
std::vector<ReplayFile::Content> contents_of(std::vector<std::string> paths);
// What is not as it was, a sentence each: other content, gone, or not readable.
std::vector<std::string> changes_since(const ReplayFile& replay);

// The run that brings the failure about; goes into the folder in which it was found. nullopt: that cannot be had, and why has
// been printed. `replay` outlives the loading.
std::optional<std::pair<RunPlan, RunOptions>> plan_of(ReplayFile& replay);

}  // namespace verbatim::cli

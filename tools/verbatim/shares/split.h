// A split: many runs of one command, divided into shares that may run on different machines at different
// times.
//
// The work is a list of units: a hundred schedules of `explore`, a seed of `run --seeds`, a point of `sweep`.
// The result of a unit depends on its number and on the inputs only, never on the share, the machine or the
// order, so that the merged result does not depend on the division. Unit u belongs to share u modulo the
// number of shares.
//
// FOLDER/split.json describes the work; FOLDER/results has the results (result_files.h); FOLDER/job.sh runs a
// share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/load.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/replay_file.h"
#include "tools/verbatim/run_plan.h"

namespace verbatim::cli {

struct Split {
  static constexpr std::int64_t kMostShares = 100'000, kMostUnits = 1'000'000'000;

  std::string folder;  // absolute path
  std::string version = VERBATIM_VERSION;
  std::vector<std::string> words;  // of the command line, from the verb on, without options of the division
  std::string working_directory;
  std::string search_path;  // PATH, for finding programs
  std::int64_t units = 0;   // 0: as many as the time allows
  std::int64_t shares = 1;
  std::vector<ReplayFile::Content> inputs;  // files that results depend on

  std::int64_t share_of(std::int64_t unit) const { return unit % shares; }
  // Digest of version, command and inputs: results with another one are of other work. 32 digits.
  std::string digest() const;
};

// Words without the options of the division and of the output: these change no result.
std::vector<std::string> words_of_split(const std::vector<std::string>& words);

// The files that results of the plan's runs depend on: those read for the plan, programs, their libraries,
// verbatim itself, and `others`, where "" is ignored. Makes one run without decisions to learn the libraries.
// nullopt, after a message, if it cannot run.
std::optional<std::vector<ReplayFile::Content>> inputs_of_runs(const RunPlan& plan, const RunOptions& options,
                                                               const config::FileTexts& files,
                                                               const std::vector<std::string>& others = {});
// The same without programs and their libraries.
std::vector<ReplayFile::Content> inputs_of_files(const config::FileTexts& files,
                                                 std::vector<std::string> others = {});

// A new split in `folder` of the command `words`.
Split split_of(const std::string& folder, const std::vector<std::string>& words, std::int64_t units,
               std::int64_t shares, std::vector<ReplayFile::Content> inputs);

// Writes split.json and job.sh, unless the folder has them for the same work. Returns a sentence on failure,
// else "".
std::string write_split(const Split& split);
// nullopt, with a sentence in `failure`, if the folder has no valid split.json.
std::optional<Split> read_split(const std::string& folder, std::string* failure);

// Why results of this machine would be of other work: a sentence for each changed file, or for the version.
std::vector<std::string> differences_here(const Split& split);

}  // namespace verbatim::cli

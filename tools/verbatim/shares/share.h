// The steps of a split that all verbs have in common: make it, run a share, and say what is missing.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tools/verbatim/answer.h"
#include "tools/verbatim/shares/result_files.h"
#include "tools/verbatim/shares/split.h"

namespace verbatim::cli {

// Runs units. `next` returns the next unit to run, none at the end; `take` gets each result, in any order,
// and returns whether to go on. The runner returns the exit code kAsExpected if all of them ended, else the
// code and a sentence in `stopped` that names the reason.
using NextUnit = std::function<std::optional<std::int64_t>()>;
using TakeUnit = std::function<bool(std::int64_t unit, const nlohmann::ordered_json& result)>;
using UnitRunner = std::function<int(const NextUnit& next, const TakeUnit& take, std::string& stopped)>;

// Whether the options divide the command, rather than run it.
inline bool is_divided(const SplitOptions& options) { return options.shares > 0 || !options.slurm.empty(); }
// Number of shares that the options ask for, at most one for each unit.
std::int64_t shares_of(const SplitOptions& options, std::int64_t units);

// Writes the files of a new split, or uses those of the same work, and submits its shares with --slurm.
// Returns the exit code.
int make_split(const Split& split, const SplitOptions& options, Answer& answer);

// Runs those units of a share that have no result yet. Returns the exit code: kAsExpected whether or not
// programs failed, since results are judged when they are collected.
int run_share(const SplitTask& task, const UnitRunner& run, Answer& answer);

// The split of a folder with all its results.
struct Collected {
  Split split;
  std::vector<ResultFile> files;
  MergedResults results;  // of `files`
};
// nullopt, after an error message, if the folder has no split.
std::optional<Collected> collect_results(const std::string& folder);

// Reports remarks and missing units by share, and submits the missing shares with --slurm. Returns `code`, or
// kMachineFault if units are missing and `code` is kAsExpected.
int end_collection(const Collected& collected, const SplitTask& task, Answer& answer, int code);

}  // namespace verbatim::cli

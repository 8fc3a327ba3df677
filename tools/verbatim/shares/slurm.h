// Slurm's commands: submits shares as tasks of a job array, and lists those that have not ended.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tools/verbatim/shares/split.h"

namespace verbatim::cli {

// Submits a job array with a task for each of these shares. `options` are words for sbatch(1), such as
// "--partition=long --cpus-per-task=4". The job is noted in FOLDER/jobs. Returns a sentence on failure, else
// "", with the job's number in `job`.
std::string submit(const Split& split, const std::vector<std::int64_t>& shares, const std::string& options,
                   std::string* job);

// Shares whose tasks wait or run, of all noted jobs. Empty if squeue(1) cannot be asked.
std::set<std::int64_t> shares_under_way(const Split& split);

}  // namespace verbatim::cli

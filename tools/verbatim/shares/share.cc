#include "tools/verbatim/shares/share.h"

#include <sched.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sim/core/words.h"
#include "tools/verbatim/shares/slurm.h"

namespace verbatim::cli {

namespace {

constexpr std::int64_t kUsualShares = 16;

std::string units_text(std::size_t count) { return join(count, count == 1 ? " unit" : " units"); }

// How the last attempt at a share ended that has units without results.
std::string end_of_share(const MergedResults& results, std::int64_t share) {
  const auto attempt = results.attempts.find(share);
  if (attempt == results.attempts.end()) return "which never ran";
  const ResultFile& file = *attempt->second;
  return join("whose last attempt (", file.name, ", machine ", file.machine,
              file.has_stopped ? ") stopped" : ") runs still, or was killed and gave no reason");
}

// Shares on one machine run beside each other: each takes other processors if it is limited to a few.
void take_processors(const SplitTask& task) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (task.jobs <= 0 || ::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  std::vector<int> all;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) all.push_back(core);
  }
  const auto jobs = static_cast<std::size_t>(task.jobs);
  if (jobs >= all.size()) return;
  cpu_set_t taken;
  CPU_ZERO(&taken);
  for (std::size_t i = 0; i < jobs; ++i)
    CPU_SET(all[(static_cast<std::size_t>(task.share) * jobs + i) % all.size()], &taken);
  ::sched_setaffinity(0, sizeof taken, &taken);
}

}  // namespace

std::int64_t shares_of(const SplitOptions& options, std::int64_t units) {
  return std::max<std::int64_t>(1, std::min(options.shares > 0 ? options.shares : kUsualShares, units));
}

int make_split(const Split& split, const SplitOptions& options, Answer& answer) {
  if (const std::string failure = write_split(split); !failure.empty()) {
    complain(failure);
    return kUsage;
  }
  answer.print("%s in %lld %s: %s\n", units_text(static_cast<std::size_t>(split.units)).c_str(),
               static_cast<long long>(split.shares), split.shares == 1 ? "share" : "shares",
               split.folder.c_str());
  answer.document() = {{"folder", split.folder}, {"units", split.units}, {"shares", split.shares}};
  if (options.slurm.empty()) {
    answer.print("run them:  seq 0 %lld | parallel %s/job.sh {} --jobs 1\n",
                 static_cast<long long>(split.shares - 1), split.folder.c_str());
  } else {
    std::vector<std::int64_t> shares;
    for (std::int64_t share = 0; share < split.shares; ++share) shares.push_back(share);
    std::string job;
    if (const std::string failure = submit(split, shares, options.slurm == "-" ? "" : options.slurm, &job);
        !failure.empty()) {
      complain(failure);
      return kMachineFault;
    }
    answer.print("submitted: job %s\n", job.c_str());
    answer.document()["job"] = job;
  }
  answer.print("collect:   verbatim %s --collect %s\n", split.words.front().c_str(), split.folder.c_str());
  return kAsExpected;
}

int run_share(const SplitTask& task, const UnitRunner& run, Answer& answer) {
  std::string failure;
  const auto split = read_split(task.folder, &failure);
  if (!split) {
    complain(failure);
    return kUsage;
  }
  if (task.share < 0 || task.share >= split->shares) {
    complain(
        join("there is no share ", task.share, "; ", task.folder, " has shares 0 to ", split->shares - 1));
    return kUsage;
  }
  ResultWriter writer;
  if (failure = writer.open(*split, task.share); !failure.empty()) {
    complain(failure);
    return kMachineFault;
  }
  if (const std::vector<std::string> differences = differences_here(*split); !differences.empty()) {
    for (const std::string& difference : differences) complain(difference);
    complain("so this machine would give results of other work, and runs nothing");
    writer.stop("refused: " + differences.front() +
                (differences.size() == 1 ? "" : join(", and ", differences.size() - 1, " more differences")));
    return kUsage;
  }
  take_processors(task);
  const std::vector<ResultFile> files = read_result_files(*split);
  const MergedResults before = merge(*split, files);
  std::vector<std::int64_t> left;
  for (const std::int64_t unit : before.missing) {
    if (split->share_of(unit) == task.share) left.push_back(unit);
  }
  std::size_t next = 0, done = 0;
  std::string stopped;
  const int code = run([&] { return next < left.size() ? std::optional(left[next++]) : std::nullopt; },
                       [&](std::int64_t unit, const nlohmann::ordered_json& result) {
                         failure = writer.write(unit, result);
                         if (failure.empty()) ++done;
                         return failure.empty();
                       },
                       stopped);
  if (!failure.empty()) {
    complain(failure + "; the results written before it are whole");
    return kMachineFault;
  }
  if (code != kAsExpected) {
    complain(stopped);
    writer.stop(stopped);
  }
  answer.print(
      "share %lld: %s, %s before, %s left\n", static_cast<long long>(task.share), units_text(done).c_str(),
      units_text(before.units.size() == 0
                     ? 0
                     : static_cast<std::size_t>(std::ranges::count_if(
                           before.units,
                           [&](const auto& entry) { return split->share_of(entry.first) == task.share; })))
          .c_str(),
      units_text(left.size() - done).c_str());
  answer.document() = {{"share", task.share}, {"done", done}, {"left", left.size() - done}};
  return code;
}

std::optional<Collected> collect_results(const std::string& folder) {
  std::string failure;
  auto split = read_split(folder, &failure);
  if (!split) {
    complain(failure);
    return std::nullopt;
  }
  std::optional<Collected> collected(std::in_place);
  collected->split = std::move(*split);
  collected->files = read_result_files(collected->split);
  collected->results = merge(collected->split, collected->files);
  return collected;
}

int end_collection(const Collected& collected, const SplitTask& task, Answer& answer, int code) {
  const Split& split = collected.split;
  std::map<std::int64_t, std::size_t> missing;  // units by share
  for (const std::int64_t unit : collected.results.missing) ++missing[split.share_of(unit)];
  nlohmann::ordered_json shares = nlohmann::ordered_json::array();
  for (const std::string& remark : collected.results.remarks) answer.print_failure("%s\n", remark.c_str());
  const std::set<std::int64_t> under_way =
      missing.empty() ? std::set<std::int64_t>() : shares_under_way(split);
  std::vector<std::int64_t> idle;
  for (const auto& [share, count] : missing) {
    if (!under_way.contains(share)) idle.push_back(share);
    answer.print_failure(
        "missing: %s of share %lld, %s\n", units_text(count).c_str(), static_cast<long long>(share),
        under_way.contains(share) ? "which waits or runs" : end_of_share(collected.results, share).c_str());
    shares.push_back({{"share", share}, {"missing", count}, {"under_way", under_way.contains(share)}});
  }
  answer.document()["missing"] = collected.results.missing.size();
  answer.document()["missing_shares"] = std::move(shares);
  answer.document()["remarks"] = collected.results.remarks;
  if (missing.empty()) return code;
  answer.print_failure("incomplete: %zu of %s have results\n", collected.results.units.size(),
                       units_text(static_cast<std::size_t>(split.units)).c_str());
  if (!task.slurm.empty() && !idle.empty()) {
    std::string job;
    if (const std::string failure = submit(split, idle, task.slurm == "-" ? "" : task.slurm, &job);
        !failure.empty()) {
      complain(failure);
      return kMachineFault;
    }
    answer.print("submitted again: %zu %s, job %s\n", idle.size(), idle.size() == 1 ? "share" : "shares",
                 job.c_str());
    answer.document()["job"] = job;
  } else if (!idle.empty()) {
    std::string numbers;
    for (const std::int64_t share : idle) numbers += join(" ", share);
    answer.print_failure("run them:  for i in%s; do %s/job.sh $i; done; or collect with --slurm\n",
                         numbers.c_str(), split.folder.c_str());
  }
  return code == kAsExpected ? static_cast<int>(kMachineFault) : code;
}

}  // namespace verbatim::cli

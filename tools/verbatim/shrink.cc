#include "tools/verbatim/shrink.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "sim/explore/reduce.h"
#include "tools/verbatim/failure_text.h"
#include "tools/verbatim/replay_file.h"

namespace verbatim::cli {

explore::Schedule schedule_of(std::vector<explore::Decision> decisions) {
  explore::Schedule schedule;
  schedule.name = "decisions";
  schedule.decisions = std::move(decisions);
  return schedule;
}

Shrunk shrink(ScheduleRuns& runs, const std::vector<explore::Decision>& decisions, const std::string& signature,
              std::chrono::steady_clock::duration wall_limit) {
  const auto end = std::chrono::steady_clock::now() + wall_limit;
  Shrunk shrunk;
  // Few at a time, so that one that fails early does not wait for hundreds that are tried for nothing. How many does not depend
  // on the processors, so the result does not either.
  constexpr std::size_t kAtOnce = 8;
  const explore::Oracle first_that_fails =
      [&](const std::vector<std::vector<explore::Decision>>& candidates) -> std::optional<std::size_t> {
    for (std::size_t first = 0; first < candidates.size(); first += kAtOnce) {
      if (runs.is_interrupted() || !runs.machine_fault().empty() || std::chrono::steady_clock::now() >= end) {
        shrunk.ran_out_of_time = true;
        return std::nullopt;
      }
      std::vector<explore::Schedule> schedules;
      for (std::size_t i = first; i < std::min(first + kAtOnce, candidates.size()); ++i)
        schedules.push_back(schedule_of(candidates[i]));
      const std::vector<RunReport> reports = runs.run_all(schedules);
      shrunk.runs += reports.size();
      const auto failed = std::ranges::find_if(reports, [&](const RunReport& r) { return r.signature() == signature; });
      if (failed == reports.end()) continue;
      shrunk.report = *failed;
      return first + static_cast<std::size_t>(failed - reports.begin());
    }
    return std::nullopt;
  };
  shrunk.is_reproducible = first_that_fails({decisions}).has_value();
  if (!shrunk.is_reproducible) {
    shrunk.decisions = decisions;
    return shrunk;
  }
  // Given decisions whose question never came, or came with fewer alternatives, are not those of the run: it tells its own.
  shrunk.decisions = explore::reduce(shrunk.report.decisions, first_that_fails);
  const std::vector<RunReport> last = runs.run_all({schedule_of(shrunk.decisions)});
  ++shrunk.runs;
  if (!last.empty()) {
    shrunk.report = last.front();
    // With the times at which they are asked now.
    if (shrunk.report.decisions.size() == shrunk.decisions.size()) shrunk.decisions = shrunk.report.decisions;
  }
  return shrunk;
}

int shrink(const ShrinkOptions& asked) {
  config::Diagnostics diagnostics;
  const auto time = parse_limit("--time", asked.time, diagnostics);
  if (!time) {
    print(diagnostics);
    return kUsage;
  }
  std::string failure;
  std::optional<ReplayFile> file = read_replay(asked.file, &failure);
  if (!file) {
    complain(failure);
    return kUsage;
  }
  std::error_code error;
  const std::string out = std::filesystem::absolute(asked.out.empty() ? asked.file : asked.out, error).string();
  auto prepared = plan_of(*file);
  if (!prepared) return kUsage;
  auto& [plan, options] = *prepared;
  options.jobs = asked.jobs;
  ScheduleRuns runs(plan, options);
  RunReport found;
  found.decisions = file->decisions;
  const Shrunk small = shrink(runs, file->decisions, file->signature,
                              std::chrono::duration_cast<std::chrono::steady_clock::duration>(*time));
  if (runs.is_interrupted()) return kInterrupted;
  if (!runs.machine_fault().empty()) {
    complain(runs.machine_fault());
    return kMachineFault;
  }
  std::printf("%s\n%s", file->summary.c_str(), failure_text(runs, small, found).c_str());
  if (!small.is_reproducible) return kProgramFailed;
  file->decisions = small.decisions;
  file->run_digest = small.report.digest;
  file->summary = small.report.summary();
  failure = write_replay(out, *file);
  if (failure.empty()) return kAsExpected;
  complain(failure);
  return kProgramFailed;
}

}  // namespace verbatim::cli

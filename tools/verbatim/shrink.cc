#include "tools/verbatim/bundle_run.h"
#include "tools/verbatim/shrink.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <utility>

#include "sim/explore/reduce.h"
#include "sim/explore/strategy.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/decision_json.h"
#include "tools/verbatim/failure_text.h"
#include "tools/verbatim/output_file.h"
#include "tools/verbatim/replay_file.h"

namespace verbatim::cli {

using Clock = std::chrono::steady_clock;

nlohmann::ordered_json arguments_json(const RunPlan& plan, const Shrunk& small) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, argument] : plan.scenario.arguments)
    json[name] = {{"range", config::format_argument_range(argument)}, {"found", argument.value}, {"value", small.arguments.at(name)}};
  return json;
}

explore::Schedule schedule_of(std::vector<explore::Decision> decisions) {
  explore::Schedule schedule;
  schedule.name = "decisions";
  schedule.decisions = std::move(decisions);
  return schedule;
}

namespace {

class Shrinking {
 public:
  Shrinking(ScheduleRuns& runs, const std::string& signature, Clock::duration wall_limit, Progress& progress)
      : runs_(runs), signature_(signature), wall_limit_(wall_limit), end_(Clock::now() + wall_limit), progress_(progress) {
    runs_.set_deadline(end_);
    runs_.set_wait_callback(progress_.wait_ms(), [this] { show_progress(); });
    runs_.set_arguments({});
    shrunk_.arguments = config::values_of(runs_.plan().scenario);
  }
  ~Shrinking() {
    runs_.set_deadline(std::nullopt);
    runs_.set_wait_callback(-1, {});
    clear_progress();
  }
  Shrinking(const Shrinking&) = delete;
  Shrinking& operator=(const Shrinking&) = delete;

  Shrunk run(const std::vector<explore::Decision>& decisions) {
    shrunk_.is_reproducible = still_fails(decisions);
    if (!shrunk_.is_reproducible) {
      is_over();  // sets ran_out_of_time
      shrunk_.decisions = decisions;
      return std::move(shrunk_);
    }
    // Given decisions that were never asked, or asked with fewer alternatives, are replaced by the run's own
    // record.
    shrunk_.decisions = shrunk_.report.decisions;
    // Shortens the runs first, which makes all later attempts faster.
    lower_arguments(Try::kSameDecisions);
    reduce();
    look_for_fewer();
    // In a shorter run another, removable decision may cause the same failure.
    while (lower_arguments(Try::kOtherDecisions)) reduce();
    if (!is_over()) {
      const std::vector<RunReport> last = run_all({schedule_of(shrunk_.decisions)});
      if (!last.empty()) shrunk_.report = last.front();
    }
    // With the current times of their questions.
    if (shrunk_.report.decisions.size() == shrunk_.decisions.size()) shrunk_.decisions = shrunk_.report.decisions;
    if (shrunk_.ran_out_of_time) shrunk_.explain_until = Clock::now() + wall_limit_;
    return std::move(shrunk_);
  }

 private:
  // Small batches, so that an early failing run need not wait for hundreds of useless ones. Batches are
  // smaller if the last failure was near. The size does not depend on the number of processors, so neither
  // does the result.
  static constexpr std::size_t kFewestAtOnce = 2, kAtOnce = 8;
  static constexpr std::size_t kFewRuns = 1500, kMostAnew = 8, kNoLimit = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kSmall = 3;  // decisions
  static constexpr std::size_t kRunsOfValue = 64;  // with a smaller argument, for each strategy

  void show_progress() {
    if (!progress_.is_due()) return;
    const double left = std::chrono::duration<double>(end_ - Clock::now()).count();
    progress_.show("shrink: " + std::to_string(shrunk_.runs) + " runs, " + std::to_string(shrunk_.report.decisions.size()) +
                   " decisions in the smallest so far" + time_left(std::max(0.0, left)) + " at most");
  }

  bool is_over() {
    if (shrunk_.runs >= most_runs_) return true;
    if (!runs_.is_interrupted() && runs_.machine_fault().empty() && Clock::now() < end_) return false;
    return shrunk_.ran_out_of_time = true;
  }

  std::vector<RunReport> run_all(const std::vector<explore::Schedule>& schedules) {
    std::vector<RunReport> reports = runs_.run_all(schedules);
    shrunk_.runs += reports.size();
    return reports;
  }

  std::optional<std::size_t> first_that_fails(const std::vector<explore::Candidate>& candidates) {
    std::size_t at_once = kFewestAtOnce;
    for (std::size_t first = 0, next = 0; first < candidates.size(); first = next, at_once = std::min(2 * at_once, kAtOnce)) {
      if (is_over()) return std::nullopt;
      std::vector<explore::Schedule> schedules;
      next = std::min(first + at_once, candidates.size());
      for (std::size_t i = first; i < next; ++i) schedules.push_back(schedule_of(candidates[i]()));
      const std::vector<RunReport> reports = run_all(schedules);
      const auto failed = std::ranges::find(reports, signature_, &RunReport::signature);
      if (failed == reports.end()) continue;
      shrunk_.report = *failed;
      return first + static_cast<std::size_t>(failed - reports.begin());
    }
    return std::nullopt;
  }

  void reduce() {
    const auto oracle = [this](const auto& candidates) { return first_that_fails(candidates); };
    shrunk_.decisions = explore::reduce(std::move(shrunk_.decisions), oracle, [this] { return is_over(); });
  }

  bool still_fails(const std::vector<explore::Decision>& decisions) {
    return first_that_fails({[&decisions] { return decisions; }}).has_value();
  }

  // Searches the failure among schedules of `strategy`. If none fails alike, nothing changes.
  bool find_anew(explore::Strategy& strategy) {
    const bool has_accesses = schedule_of(shrunk_.decisions).takes_accesses();
    while (!strategy.is_exhausted() && !is_over()) {
      std::vector<explore::Schedule> schedules;
      while (schedules.size() < kAtOnce) {
        auto schedule = strategy.next();
        if (!schedule) break;
        schedule->has_accesses = has_accesses;
        schedules.push_back(std::move(*schedule));
      }
      const std::vector<RunReport> reports = run_all(schedules);
      if (reports.size() < schedules.size()) return false;
      for (std::size_t i = 0; i < reports.size(); ++i) {
        strategy.learn(schedules[i], reports[i].questions);
        if (reports[i].signature() != signature_) continue;
        shrunk_.report = reports[i];
        shrunk_.decisions = reports[i].decisions;
        return true;
      }
    }
    return false;
  }

  // Late decisions of a long run may match no run without an early one; then the failure is searched again.
  void look_for_fewer() {
    const auto few = explore::make_reducing_strategy(1, shrunk_.decisions);
    for (std::size_t tries = 0; tries < kMostAnew && shrunk_.decisions.size() > kSmall && !is_over(); ++tries) {
      const std::vector<explore::Decision> decisions = shrunk_.decisions;
      const RunReport report = shrunk_.report;
      most_runs_ = shrunk_.runs + kFewRuns;
      const bool is_found = find_anew(*few);
      most_runs_ = kNoLimit;
      if (!is_found) break;
      reduce();
      if (shrunk_.decisions.size() < decisions.size()) continue;
      shrunk_.decisions = decisions;
      shrunk_.report = report;
    }
  }

  enum class Try : std::uint8_t { kSameDecisions, kOtherDecisions };  // the second includes the first

  // Lowers each argument as far as the run still fails, repeatedly until none can be lowered: first its least
  // value, then by bisection. Returns whether any was lowered.
  bool lower_arguments(Try what) {
    bool any = false;
    for (bool is_lower = true; is_lower;) {
      is_lower = false;
      for (const auto& [name, argument] : runs_.plan().scenario.arguments) is_lower |= lower(name, argument.least, what);
      any |= is_lower;
    }
    return any;
  }

  bool lower(const std::string& name, std::int64_t least, Try what) {
    const std::int64_t before = shrunk_.arguments.at(name);
    if (before == least || fails_with(name, least, what)) return before != least;
    for (std::int64_t passes = least, fails = before; fails - passes > 1;) {
      const std::int64_t middle = passes + (fails - passes) / 2;
      (fails_with(name, middle, what) ? fails : passes) = middle;
    }
    return shrunk_.arguments.at(name) != before;
  }

  // If the run still fails, it becomes the current failure.
  bool fails_with(const std::string& name, std::int64_t value, Try what) {
    if (is_over()) return false;
    config::ArgumentValues arguments = shrunk_.arguments;
    arguments[name] = value;
    runs_.set_arguments(arguments);
    bool has_failed = still_fails(shrunk_.decisions);
    if (has_failed) shrunk_.decisions = shrunk_.report.decisions;
    if (!has_failed && what == Try::kOtherDecisions && !shrunk_.decisions.empty()) {
      std::string ignored;
      const auto few = explore::make_reducing_strategy(1, shrunk_.decisions), random = explore::make_strategy("random", 1, {}, &ignored);
      for (explore::Strategy* strategy : {few.get(), random.get()}) {
        most_runs_ = shrunk_.runs + kRunsOfValue;
        has_failed = has_failed || find_anew(*strategy);
      }
      most_runs_ = kNoLimit;
    }
    if (has_failed) shrunk_.arguments = std::move(arguments);
    runs_.set_arguments(shrunk_.arguments);
    return has_failed;
  }

  ScheduleRuns& runs_;
  const std::string& signature_;
  const Clock::duration wall_limit_;
  const Clock::time_point end_;
  Progress& progress_;
  std::size_t most_runs_ = kNoLimit;
  Shrunk shrunk_;
};

}  // namespace

Shrunk shrink(ScheduleRuns& runs, const std::vector<explore::Decision>& decisions, const std::string& signature,
              std::chrono::steady_clock::duration wall_limit, Progress& progress) {
  return Shrinking(runs, signature, wall_limit, progress).run(decisions);
}

int shrink(const ShrinkOptions& asked) {
  config::Diagnostics diagnostics;
  const auto time = parse_limit("--time", asked.time, diagnostics);
  if (!time) {
    print(diagnostics);
    return kUsage;
  }
  std::string failure;
  const bool is_packed = bundle::is_bundle(asked.file);
  const std::shared_ptr<BundleRun> packed = is_packed ? BundleRun::open(asked.file, &failure) : nullptr;
  std::optional<ReplayFile> file;
  if (packed != nullptr) file = packed->run();
  else if (failure.empty()) file = read_replay(asked.file, &failure);
  if (!file) {
    complain(failure);
    return kUsage;
  }
  if (file->signature.empty()) {
    complain(asked.file + " is a run that does not fail, so there is nothing to shrink");
    return kUsage;
  }
  if (!can_write(asked.out)) return kUsage;
  std::error_code error;
  const std::string out = std::filesystem::absolute(asked.out.empty() ? asked.file : asked.out, error).string();
  auto prepared = packed != nullptr ? plan_of(packed) : plan_of(*file);
  if (!prepared) return kUsage;
  auto& [plan, options] = *prepared;
  options.jobs = asked.jobs;
  Answer answer("shrink", asked.style);
  Progress progress(answer.is_for_people());
  ScheduleRuns runs(plan, options);
  RunReport found;
  found.decisions = file->decisions;
  const Shrunk small = shrink(runs, file->decisions, file->signature,
                              std::chrono::duration_cast<std::chrono::steady_clock::duration>(*time), progress);
  if (runs.is_interrupted()) {
    complain("interrupted; " + asked.file + " is as it was");
    return kInterrupted;
  }
  if (!runs.machine_fault().empty()) {
    complain(runs.machine_fault());
    return kMachineFault;
  }
  const std::string text = file->summary + "\n" + failure_text(runs, small, found);
  if (small.is_reproducible) answer.print("%s", text.c_str());
  if (!small.is_reproducible) answer.print_failure("%s", text.c_str());
  answer.document() = {{"reproducible", small.is_reproducible},
                       {"signature", file->signature},
                       {"summary", small.is_reproducible ? small.report.summary() : file->summary},
                       {"arguments", arguments_json(plan, small)},
                       {"decisions_given", file->decisions.size()},
                       {"decisions", to_json(small.decisions)},
                       {"runs", small.runs},
                       {"ran_out_of_time", small.ran_out_of_time}};
  if (!small.is_reproducible) return answer.end(kProgramFailed);
  answer.document()["replay"] = asked.out.empty() ? asked.file : asked.out;
  options.sets = words_of(small.arguments);
  file->words = words_of(options);
  file->arguments = small.arguments;
  file->decisions = small.decisions;
  file->digest = {small.report.digest};
  file->summary = small.report.summary();
  failure = write_replay(out, *file);
  if (failure.empty()) return answer.end(kAsExpected);
  complain(failure);
  return kProgramFailed;
}

}  // namespace verbatim::cli

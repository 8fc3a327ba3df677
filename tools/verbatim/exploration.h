// Search of `verbatim explore` over schedules of one plan: counts the runs, keeps one failure of each kind,
// shrinks and explains it, and writes the results.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/explore/strategy.h"
#include "sim/observe/digest_sink.h"
#include "sim/observe/race_windows.h"
#include "tools/verbatim/advice/finding_list.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/progress.h"
#include "tools/verbatim/replay_file.h"
#include "tools/verbatim/schedule_runs.h"

namespace verbatim::cli {

struct FailureKind;
class FailureWork;
class ScheduleTotals;

class Exploration {
 public:
  using Clock = std::chrono::steady_clock;

  // The parameters must outlive this object. `time` limits the search, `shrink_time` the shrinking of each
  // kind of failure.
  Exploration(const RunPlan& plan, const ExploreOptions& options, config::FileTexts& files,
              explore::Strategy& strategy, Clock::duration time, Clock::duration shrink_time, Answer& answer)
      : plan_(plan),
        options_(options),
        files_(files),
        strategy_(strategy),
        runs_(plan, options.run),
        time_(time),
        shrink_time_(shrink_time),
        answer_(answer) {}

  using Json = nlohmann::ordered_json;

  // Returns the exit code.
  int run();

  // Shrinks and explains a failure that another process has found, as run() does. Returns its entry of explore.json;
  // nullopt, after a message, if the replay file could not be written. If the failure does not occur again, the
  // explanation says so, and the entry has no "replay".
  std::optional<Json> explain(const FailureKind& failure);
  // Reports the results of a search that was divided into units, as run() does; `missing`: number of units without
  // result. Returns the exit code.
  int report(const ScheduleTotals& totals, const FailureWork& explained, std::size_t missing);

 private:
  struct Kind {
    std::string signature;
    std::int64_t first_run = 0, failures = 0;
    std::string strategy;  // of the first run
    RunReport report;      // of the first run
    std::string summary;   // of the first run
  };

  bool is_time_left() const { return options_.until_failure || Clock::now() - begin_ < time_; }
  // Whether current runs must be abandoned. A run may take as long as its virtual time limit allows.
  bool is_long_over() const;
  bool may_start() const;
  void search();
  void take(const ScheduleRuns::Done& done);
  // Progress differs from search to search, so it goes to standard error.
  void show_progress();
  void summarise();
  // Failures caused by quirks are not mistakes according to the specification.
  void report_quirks();
  // Freedoms and race conditions that the search has not reached.
  void report_untried();
  std::vector<std::string> untried_sites() const;
  // Names files of failures in --out that this search has not written. They are kept: each may be the only record of a
  // failure.
  void report_older_files();
  std::size_t jobs() const;
  std::size_t different() const { return unit_digest_ ? unit_outcomes_ : different_.size(); }
  void print_heading(const Kind& kind, std::size_t number);
  // Shrinks and explains the failure, and writes its replay file. Returns false if that could not be written.
  bool report_failure(const Kind& kind, std::size_t number);
  // Repeats the failure with a recording. Returns the recording's path; empty, after a message, if there is
  // none.
  std::string record(const ReplayFile& failure, std::size_t number);
  bool write_results();

  static constexpr std::chrono::seconds kGrace{10};

  const RunPlan& plan_;
  const ExploreOptions& options_;
  config::FileTexts& files_;
  explore::Strategy& strategy_;
  ScheduleRuns runs_;
  const Clock::duration time_, shrink_time_;
  Answer& answer_;
  Progress progress_{answer_.is_for_people()};
  const Clock::time_point begin_ = Clock::now();
  std::int64_t started_ = 0, counted_ = 0, failed_ = 0;
  observe::DigestSink digest_;       // over the digests of all runs, in order
  std::set<std::string> different_;  // digests
  std::optional<std::string> unit_digest_;  // of the results of units, instead of digest_
  std::size_t unit_outcomes_ = 0;           // number of different digests of units
  std::size_t units_missing_ = 0;
  bool has_enough_ = false;
  int ours_ = kAsExpected;  // exit code if the search ended for a reason other than failures of programs
  std::vector<Kind> kinds_;
  std::map<std::string, std::uint64_t> asked_, decided_;  // by site
  std::array<std::uint64_t, observe::kRaceWindowCount> windows_{};
  FindingList findings_;
  Json entries_ = Json::array();
};

}  // namespace verbatim::cli

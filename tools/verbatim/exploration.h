// Search of `verbatim explore` over schedules of one plan: counts the runs, keeps one failure of each kind,
// shrinks and explains it, and writes the results.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "sim/explore/strategy.h"
#include "sim/observe/digest_sink.h"
#include "sim/observe/race_windows.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/progress.h"
#include "tools/verbatim/replay_file.h"
#include "tools/verbatim/schedule_runs.h"

namespace verbatim::cli {

class Exploration {
 public:
  using Clock = std::chrono::steady_clock;

  // The parameters outlive it. `time`: of the search; `shrink_time`: for each kind of failure.
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

  // Returns the exit code.
  int run();

 private:
  using Json = nlohmann::ordered_json;
  struct Kind {
    std::string signature;
    std::int64_t first_run = 0, failures = 0;
    std::string strategy;  // of the first run
    RunReport report;      // of the first run
  };

  bool is_time_left() const { return options_.until_failure || Clock::now() - begin_ < time_; }
  // True: runs are abandoned. A run may last until its virtual time limit.
  bool is_long_over() const;
  bool may_start() const;
  void search();
  void take(const ScheduleRuns::Done& done);
  // On standard error: progress differs from search to search.
  void show_progress();
  void summarise();
  // Says that failures by quirks are no mistakes by the specification.
  void report_quirks();
  // Freedoms and race conditions that no run has met.
  void report_untried();
  std::size_t jobs() const;
  // Shrinks and explains the failure, and writes its replay file. False: that could not be written.
  bool report_failure(const Kind& kind, std::size_t number);
  // Runs the failure again, with a recording. Returns the recording's path; empty: there is none, and a
  // sentence has said why.
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
  observe::DigestSink digest_;       // of the digests of all runs, in their order
  std::set<std::string> different_;  // digests
  bool has_enough_ = false;
  int ours_ = kAsExpected;  // exit code if something other than a program ended the search
  std::vector<Kind> kinds_;
  std::map<std::string, std::uint64_t> asked_, decided_;  // by site
  std::array<std::uint64_t, observe::kRaceWindowCount> windows_{};
  Json entries_ = Json::array();
};

}  // namespace verbatim::cli

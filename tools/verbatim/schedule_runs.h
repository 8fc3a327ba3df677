// Runs schedules of one plan, several at a time, and returns their reports in the order of their starts.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/explore/schedule.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/run_report.h"
#include "tools/verbatim/schedule_workers.h"

namespace verbatim::cli {

class ScheduleRuns {
 public:
  // Both outlive it. `options`: jobs and core are those of the runs.
  ScheduleRuns(const RunPlan& plan, const RunOptions& options);

  const RunPlan& plan() const { return plan_; }

  bool has_room() const { return workers_.has_room(); }
  bool is_idle() const { return workers_.is_idle(); }
  bool is_interrupted() const { return workers_.is_interrupted(); }
  // Why the machine ended the first run that ended without a result, or why a run could not be started; empty: neither.
  const std::string& machine_fault() const { return machine_fault_; }

  // Arguments of the commands of later runs; the plan's for those that are not named.
  void set_arguments(config::ArgumentValues values) { arguments_ = std::move(values); }

  // False: the machine has no room for another process, and machine_fault() says so.
  bool start(const explore::Schedule& schedule, const RunFiles& files = {});
  // Waits until something has happened or `wall_ms` have passed.
  void await(int wall_ms);

  struct Done {
    explore::Schedule schedule;
    RunReport report;
  };
  // The next report in the order of the starts, if its run has ended. Runs that an interruption has ended have none.
  std::optional<Done> next_done();

  // Runs one schedule while no other is under way. nullopt: an interruption has ended it, or it could not be started.
  std::optional<RunReport> run(const explore::Schedule& schedule, const RunFiles& files);
  // Time at which run_all() abandons runs that have not ended. nullopt: it waits for all.
  void set_deadline(std::optional<std::chrono::steady_clock::time_point> deadline) { deadline_ = deadline; }
  // Runs all schedules; fewer reports after an interruption or the deadline.
  std::vector<RunReport> run_all(const std::vector<explore::Schedule>& schedules, const std::string& trace_prefix = "");

  // `on_wait` is called every `wall_ms` milliseconds of real time while reports are awaited; negative: never.
  void tell_waits(int wall_ms, std::function<void()> on_wait) {
    wait_ms_ = wall_ms;
    on_wait_ = std::move(on_wait);
  }

  // Ends the runs under way; they have no report.
  void abandon();

 private:
  int wait_ms() const;

  const RunPlan& plan_;
  ScheduleWorkers workers_;
  config::ArgumentValues arguments_;
  std::string machine_fault_;
  int wait_ms_ = -1;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::function<void()> on_wait_;
  std::int64_t started_ = 0, given_ = 0;
  std::map<std::int64_t, explore::Schedule> under_way_;
  std::map<std::int64_t, Done> done_;
};

}  // namespace verbatim::cli

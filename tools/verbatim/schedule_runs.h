// Runs schedules of one plan in parallel and returns their results in order.
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
  // Both must outlive this object; jobs and core of `options` place the runs.
  ScheduleRuns(const RunPlan& plan, const RunOptions& options);

  const RunPlan& plan() const { return plan_; }

  bool has_room() const { return workers_.has_room(); }
  bool is_idle() const { return workers_.is_idle(); }
  bool is_interrupted() const { return workers_.is_interrupted(); }
  // A fault of the machine that ended a run, or a reason why one could not be started; empty: none.
  const std::string& machine_fault() const { return machine_fault_; }

  // Commands of later runs have these arguments; others keep the plan's values.
  void set_arguments(config::ArgumentValues values) { arguments_ = std::move(values); }

  // Returns false, with a reason in machine_fault(), if the machine has no room for another process.
  bool start(const explore::Schedule& schedule, const RunFiles& files = {});
  // Waits until a run has ended or `wall_ms` have passed.
  void await(int wall_ms);

  struct Done {
    explore::Schedule schedule;
    RunReport report;
  };
  // The next result in the order of the starts, if available. Interrupted runs have none.
  std::optional<Done> next_done();

  // Runs one schedule while no other runs. nullopt if it was interrupted or could not be started.
  std::optional<RunReport> run(const explore::Schedule& schedule, const RunFiles& files);
  // Sets the time at which run_all() abandons unfinished runs. nullopt: none.
  void set_deadline(std::optional<std::chrono::steady_clock::time_point> deadline) { deadline_ = deadline; }
  // Runs all of them and returns the results in order, fewer after an interruption or the deadline.
  // `files`: of each schedule; empty: none.
  std::vector<RunReport> run_all(const std::vector<explore::Schedule>& schedules, const std::vector<RunFiles>& files = {});

  // While results are awaited, `on_wait` is called at this interval of real time; negative: never.
  void set_wait_callback(int wall_ms, std::function<void()> on_wait) {
    wait_ms_ = wall_ms;
    on_wait_ = std::move(on_wait);
  }

  // Kills the current runs and discards their results.
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
  std::int64_t started_ = 0, next_returned_ = 0;
  std::map<std::int64_t, explore::Schedule> under_way_;
  std::map<std::int64_t, Done> done_;
};

}  // namespace verbatim::cli

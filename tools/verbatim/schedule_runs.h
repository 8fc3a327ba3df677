// Runs schedules of one plan, side by side, and keeps what came of each in their order.
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
  // Both outlive it; of `options`, jobs and core say where runs go.
  ScheduleRuns(const RunPlan& plan, const RunOptions& options);

  const RunPlan& plan() const { return plan_; }

  bool has_room() const { return workers_.has_room(); }
  bool is_idle() const { return workers_.is_idle(); }
  bool is_interrupted() const { return workers_.is_interrupted(); }
  // What the machine has done to the first run whose end says nothing of the programs, or why one could not be started; empty:
  // nothing.
  const std::string& machine_fault() const { return machine_fault_; }

  // From now on the commands of runs have these arguments, and the plan's for those that are not named.
  void set_arguments(config::ArgumentValues values) { arguments_ = std::move(values); }

  // False: the machine has no room for another process, and machine_fault() says so.
  bool start(const explore::Schedule& schedule, const RunFiles& files = {});
  // Waits until something has happened or `wall_ms` have passed.
  void await(int wall_ms);

  struct Done {
    explore::Schedule schedule;
    RunReport report;
  };
  // The next one in the order of the starts, if it is there. Those that an interruption has cut off never are.
  std::optional<Done> next_done();

  // One, when no other is under way. nullopt: an interruption has cut it off, or it could not be started.
  std::optional<RunReport> run(const explore::Schedule& schedule, const RunFiles& files);
  // From now on run_all() abandons runs that have not ended then. nullopt: it waits for all.
  void set_deadline(std::optional<std::chrono::steady_clock::time_point> deadline) { deadline_ = deadline; }
  // All of them, in their order; cut short by an interruption and by the deadline.
  std::vector<RunReport> run_all(const std::vector<explore::Schedule>& schedules, const std::string& trace_prefix = "");

  // While results are awaited that function is called every so many milliseconds of real time; negative: it is not.
  void tell_waits(int wall_ms, std::function<void()> on_wait) {
    wait_ms_ = wall_ms;
    on_wait_ = std::move(on_wait);
  }

  // Ends those under way, of which nobody wants to hear.
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

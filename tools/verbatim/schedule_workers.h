// Worker processes that run one schedule after the other and keep what runs can share. The result of a
// schedule does not depend on the worker, or on its earlier runs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/explore/schedule.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/run_report.h"
#include "tools/verbatim/process_pool.h"

namespace verbatim::cli {

// Output files of a run; empty: none.
struct RunFiles {
  std::string trace, record;
  std::string calls, facts;    // as those of `--calls` and `--keep-trace`
  std::int64_t until_ps = 0;   // the run ends at this virtual time; 0: at its own end
};

// Settings of a run in addition to its schedule.
struct RunWish {
  RunFiles files;
  config::ArgumentValues arguments;  // that differ from the plan's
};

// A schedule as JSON, complete.
nlohmann::ordered_json to_json(const explore::Schedule& schedule);
// Throws nlohmann::json::exception if `json` is not in the form of to_json().
explore::Schedule schedule_of(const nlohmann::ordered_json& json);

class ScheduleWorkers {
 public:
  // Both must outlive this object; jobs and core of `options` set the number and placement of workers.
  ScheduleWorkers(const RunPlan& plan, const RunOptions& options);
  ~ScheduleWorkers() { abandon(); }
  ScheduleWorkers(const ScheduleWorkers&) = delete;
  ScheduleWorkers& operator=(const ScheduleWorkers&) = delete;

  bool has_room() const { return !is_interrupted() && pool_.free_slot(); }
  bool is_idle() const { return !pool_.any_busy(); }

  // Returns false if the machine has no room for another process.
  bool start(std::int64_t number, const explore::Schedule& schedule, const RunWish& wish);

  struct Ended {
    std::int64_t number = 0;
    std::optional<RunReport> report;  // nullopt: the process exited without a report
    int status = 0;                   // then: from waitpid(), or the exit code if the run was not started
  };
  // Waits until a run has ended, or the user interrupts, or `wall_ms` have passed (negative: no limit).
  std::vector<Ended> await(int wall_ms);

  // After SIGINT, SIGTERM or SIGHUP: current runs were asked to end, and none can be started.
  bool is_interrupted() const { return ProcessPool::is_interrupted(); }
  // Ends all current runs and discards their results.
  void abandon();

 private:
  struct Worker {
    int socket = -1;  // for requests and reports; -1: the slot has no process
    std::int64_t number = 0;
    unsigned runs = 0;
  };
  // Limits leaks of runs: a worker is replaced after this number of runs.
  static constexpr unsigned kMostRuns = 2000;

  bool make(std::size_t slot);
  static void close_socket(Worker& worker);
  int serve(int socket, int core);
  Ended take(std::size_t slot);
  int end(std::size_t slot);

  const RunPlan& plan_;
  const RunOptions& options_;
  ProcessPool pool_;
  std::vector<Worker> workers_;  // by slot
};

}  // namespace verbatim::cli

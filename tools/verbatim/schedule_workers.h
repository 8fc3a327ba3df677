// Worker processes that run one schedule after the other and keep what runs can share. The result of a
// schedule does not depend on the worker, or on its earlier runs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/explore/schedule.h"
#include "tools/verbatim/run_plan.h"
#include "tools/verbatim/run_report.h"
#include "tools/verbatim/worker_pool.h"

namespace verbatim::cli {

// Output files of a run; empty: none.
struct RunFiles {
  std::string trace, record;
};

// Settings of a run in addition to its schedule.
struct RunWish {
  RunFiles files;
  config::ArgumentValues arguments;  // that differ from the plan's
};

class ScheduleWorkers {
 public:
  // Both must outlive this object; jobs and core of `options` set the number and placement of workers.
  ScheduleWorkers(const RunPlan& plan, const RunOptions& options);
  ~ScheduleWorkers();
  ScheduleWorkers(const ScheduleWorkers&) = delete;
  ScheduleWorkers& operator=(const ScheduleWorkers&) = delete;

  bool has_room() const { return !is_interrupted() && busy_ < workers_.size(); }
  bool is_idle() const { return busy_ == 0; }

  // Returns false if the machine has no room for another process.
  bool start(std::int64_t number, const explore::Schedule& schedule, const RunWish& wish);

  struct Ended {
    std::int64_t number = 0;
    std::optional<RunReport> report;  // nullopt: the process exited without a report
    int status = 0;                   // in that case: from waitpid(); or the exit code if the run was not started
  };
  // Waits until a run has ended, or the user interrupts, or `wall_ms` have passed (negative: no limit).
  std::vector<Ended> await(int wall_ms);

  // After SIGINT, SIGTERM or SIGHUP: current runs were asked to end, and none can be started.
  bool is_interrupted() const { return Interruption::came(); }
  // Ends all current runs and discards their results.
  void abandon();

 private:
  struct Worker {
    pid_t process = -1;  // -1: none
    int socket = -1;     // for requests and reports
    bool is_busy = false;
    std::int64_t number = 0;
    unsigned runs = 0;
  };
  // Limits leaks of runs: a worker is replaced after this number of runs.
  static constexpr unsigned kMostRuns = 2000;

  bool make(Worker& worker, int core);
  int serve(int socket, int core);
  Ended take(Worker& worker);
  int end(Worker& worker);
  int forget(Worker& worker, int status);
  void signal_busy(int signal);

  const RunPlan& plan_;
  const RunOptions& options_;
  const std::vector<int> cores_;
  std::vector<Worker> workers_;
  std::size_t busy_ = 0;
  supervisor::Waiting waiting_;
  RunsEnd end_;
};

}  // namespace verbatim::cli

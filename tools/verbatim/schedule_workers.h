// Processes that run one schedule after the other: what a run needs not make anew is made once in each. What comes of a
// schedule does not depend on which of them ran it, nor on what it has run before.
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

// That a run writes; empty: not.
struct RunFiles {
  std::string trace, record;
};

// Beside the schedule, what a run has of its own.
struct RunWish {
  RunFiles files;
  config::ArgumentValues arguments;  // those that are not the plan's
};

class ScheduleWorkers {
 public:
  // Both outlive it; of `options`, jobs and core say how many there are and where they run.
  ScheduleWorkers(const RunPlan& plan, const RunOptions& options);
  ~ScheduleWorkers();
  ScheduleWorkers(const ScheduleWorkers&) = delete;
  ScheduleWorkers& operator=(const ScheduleWorkers&) = delete;

  bool has_room() const { return !is_interrupted() && busy_ < workers_.size(); }
  bool is_idle() const { return busy_ == 0; }

  // False: the machine has no room for another process.
  bool start(std::int64_t number, const explore::Schedule& schedule, const RunWish& wish);

  struct Ended {
    std::int64_t number = 0;
    std::optional<RunReport> report;  // nullopt: the process has ended without one
    int status = 0;                   // then: as waitpid() has it; or its exit code, if the run was not started
  };
  // Waits until one has ended, or the user interrupts, or `wall_ms` have passed (negative: for ever).
  std::vector<Ended> await(int wall_ms);

  // SIGINT, SIGTERM or SIGHUP came: those under way were asked to end, and none can be started.
  bool is_interrupted() const { return Interruption::came(); }
  // Ends all that are under way; nobody hears of them.
  void abandon();

 private:
  struct Worker {
    pid_t process = -1;  // -1: there is none
    int socket = -1;     // to and from it
    bool is_busy = false;
    std::int64_t number = 0;
    unsigned runs = 0;
  };
  // So that what a run leaves behind by mistake, some memory, does not add up for ever.
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

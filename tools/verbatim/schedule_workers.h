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
#include "tools/verbatim/process_pool.h"

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
  ~ScheduleWorkers() { abandon(); }
  ScheduleWorkers(const ScheduleWorkers&) = delete;
  ScheduleWorkers& operator=(const ScheduleWorkers&) = delete;

  bool has_room() const { return !is_interrupted() && pool_.free_slot(); }
  bool is_idle() const { return !pool_.any_busy(); }

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
  bool is_interrupted() const { return ProcessPool::is_interrupted(); }
  // Ends all that are under way; nobody hears of them.
  void abandon();

 private:
  struct Worker {
    int socket = -1;  // to and from the process of the slot; -1: there is none
    std::int64_t number = 0;
    unsigned runs = 0;
  };
  // So that what a run leaves behind by mistake, some memory, does not add up for ever.
  static constexpr unsigned kMostRuns = 2000;

  bool make(std::size_t slot);
  int serve(int socket, int core);
  Ended take(std::size_t slot);
  int end(std::size_t slot);

  const RunPlan& plan_;
  const RunOptions& options_;
  ProcessPool pool_;
  std::vector<Worker> workers_;  // by slot
};

}  // namespace verbatim::cli

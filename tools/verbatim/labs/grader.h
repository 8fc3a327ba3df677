// Grades a submission: makes the runs that the lab's criteria need, each in a process of its own, and
// evaluates them. Criteria that need the same run share it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/supervisor/machine/machine_files.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/labs/lab_folder.h"
#include "tools/verbatim/labs/submission.h"
#include "tools/verbatim/progress.h"
#include "tools/verbatim/worker_pool.h"

namespace verbatim::cli {

struct Grade {
  unsigned points = 0;
  std::vector<std::string> why;  // lines; empty: full points
};

struct GraderOptions {
  std::vector<std::int64_t> seeds;  // for `schedules`; empty: 1, 2, … as in the criterion
  bool call_by_call = false;
  bool shows_progress = false;
  // Files that the programs see, outlives the grader; nullptr: the machine's.
  supervisor::MachineFiles* files = nullptr;
  bool keeps_looks = false;  // for looks()
};

class Grader {
 public:
  // `lab` and `submission` must outlive the grader.
  Grader(const Lab& lab, Submission& submission, GraderOptions options);

  // Returns false if interrupted.
  bool run();
  const std::vector<Grade>& grades() const { return grades_; }  // by criterion
  unsigned points() const { return points_of(grades_); }
  // The machine's files as programs of all runs have seen them, with `keeps_looks`.
  const supervisor::MachineLooks& looks() const { return looks_; }

 private:
  // A run for one or several criteria.
  struct Run {
    std::string key;  // identifies the scenario and options of the run
    RunOptions options;
    bool watches_order = false;  // ArmingOrder observes its calls
    // Set at its end:
    std::vector<std::string> failure;  // lines; empty: as the scenario expects
    std::uint64_t rnr_naks = 0, packets = 0, pauses = 0, sleeps = 0;
    std::int64_t end_ps = 0;
    std::string order_mistake;
  };
  struct Question {
    std::size_t criterion, run;
    std::string words;  // "with seed 7", "when packet 3 from client is lost"; empty: the only run
  };

  void ask(std::size_t index);
  void add(std::size_t index, std::string words, RunOptions options);
  std::filesystem::path out_of(std::size_t run) const;
  bool run_all();
  int run_one(std::size_t number, int core);
  int run_recorded(std::size_t number, RunOptions options);
  void collect_looks(const std::filesystem::path& out);
  void watch(const WorkerPool& pool);
  void collect(const WorkerPool::Ended& ended);
  // Reasons why the run does not satisfy the criterion, in lines; empty: it does. `ever_sleeps`: the program
  // sleeps in some run of the criterion.
  std::vector<std::string> judge(const Criterion& criterion, const Run& run, bool ever_sleeps) const;
  void count_points();

  const Lab& lab_;
  Submission& submission_;
  const GraderOptions options_;
  Progress progress_;
  std::vector<Grade> grades_;
  std::vector<Run> runs_;
  std::vector<Question> questions_;  // in the order of the criteria
  std::size_t ended_ = 0;            // number of runs
  supervisor::MachineLooks looks_;
  std::uintmax_t free_before_ = 0;   // bytes of free disk space when the run's files were last known to be within the limit
  std::map<std::size_t, std::string> too_much_;  // reason for which a run was killed, by run
};

}  // namespace verbatim::cli

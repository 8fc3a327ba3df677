// Many runs, each in a process of its own, as many in parallel as there are processors. The caller gets their
// results in the order in which they end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/verbatim/process_pool.h"

namespace verbatim::cli {

class WorkerPool {
 public:
  // `jobs`: parallel runs, 0: one for each allowed processor; `core`: the only processor, negative: all.
  WorkerPool(int jobs, int core);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  bool has_room() const { return !is_interrupted() && pool_.free_slot(); }
  bool is_idle() const { return !pool_.any_busy(); }
  std::size_t jobs() const { return pool_.slots(); }

  // `start` creates the process on processor `core` (negative: any), whose output goes to the descriptor
  // `output`, and returns its process id, negative on failure. Returns false if it was not started.
  bool start(std::int64_t number, const std::function<pid_t(int core, int output)>& start);

  struct Ended {
    std::int64_t number = 0;
    int status = 0;      // from waitpid()
    int output = -1;     // descriptor, closed by the receiver
  };
  // Waits until a run has ended, or the user interrupts, or `wall_ms` have passed (negative: no limit).
  std::vector<Ended> await(int wall_ms = -1);

  // Number and process of the current runs.
  std::vector<std::pair<std::int64_t, pid_t>> running() const;

  // After SIGINT, SIGTERM or SIGHUP: current runs are asked to end, and none can be started.
  bool is_interrupted() const { return ProcessPool::is_interrupted(); }
  // Ends all current runs and discards their results.
  void abandon();

 private:
  struct Run {
    std::int64_t number = 0;
    int output = -1;
  };

  ProcessPool pool_;
  std::vector<Run> runs_;  // by slot; valid if the slot is busy
};

// Why a process ended without a report of its run: an exit code of ours, and a sentence.
struct Silence {
  int code = 0;
  std::string sentence;
};
Silence silence_of(int status);

// The first error message in the file with a run's output.
std::string first_sentence(int fd);
// The whole content of the file.
std::string content_of(int fd);
// Returns whether all of it was written.
bool write_all(int fd, const std::string& bytes);

}  // namespace verbatim::cli

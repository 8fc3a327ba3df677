// Many runs, each in a process of its own, as many in parallel as there are processors. The caller gets their
// results in the order in which they end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/interruption.h"
#include "sim/supervisor/machine/waiting.h"

namespace verbatim::cli {

// Processors that runs may use: `core` only or, if negative, all that this process is allowed.
std::vector<int> cores_of_runs(int core);
// Number of parallel runs: `jobs` or, if 0, one for each of `cores`.
std::size_t jobs_of_runs(int jobs, const std::vector<int>& cores);

// How current runs end after an interruption or when their results are not wanted: they are asked to end, and
// are killed supervisor::kKillAfterMs later, or at a second interruption.
class RunsEnd {
 public:
  // The signal to send; 0: none. Call again after each wait.
  int next_signal();
  // Ends them without an interruption.
  void begin() { is_wanted_ = true; }
  // Time until the next call of next_signal(); otherwise `wall_ms` (negative: no limit).
  int wait_ms(int wall_ms) const;

 private:
  std::chrono::steady_clock::time_point kill_at_{};
  int seen_ = 0;  // number of interruptions
  enum class Step : std::uint8_t { kNone, kAsked, kKilled } step_ = Step::kNone;
  bool is_wanted_ = false;
};

class WorkerPool {
 public:
  // `jobs`: parallel runs, 0: one for each allowed processor; `core`: the only processor, negative: all.
  WorkerPool(int jobs, int core);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  bool has_room() const { return !is_interrupted() && running_.size() < slots_.size(); }
  bool is_idle() const { return running_.empty(); }
  std::size_t jobs() const { return slots_.size(); }

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
  bool is_interrupted() const { return Interruption::came(); }
  // Ends all current runs and discards their results.
  void abandon();

 private:
  struct Run {
    std::int64_t number = 0;
    std::size_t slot = 0;
    int output = -1;
  };
  void signal_all(int signal);

  const std::vector<int> cores_;
  std::vector<bool> slots_;  // in use
  std::map<pid_t, Run> running_;
  supervisor::Waiting waiting_;
  RunsEnd end_;
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

// Many runs, each in a process of its own, as many at a time as there are processors. Who starts them hears of their ends in
// whatever order they come.
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

// Processors that runs may use: `core` alone, or where that is negative all that this process is allowed.
std::vector<int> cores_of_runs(int core);
// How many go on at a time: `jobs`, or where that is 0 one for each of `cores`.
std::size_t jobs_of_runs(int jobs, const std::vector<int>& cores);

// How runs end that are under way when the user interrupts, or when nobody wants to hear of them: they are asked to end, and are
// killed when they have not ended supervisor::kKillAfterMs later, or at a second interruption.
class RunsEnd {
 public:
  // The signal that they get now; 0: none. Asked again after each wait.
  int next_signal();
  // Asks them to end whatever the user does.
  void begin() { is_wanted_ = true; }
  // How long to wait until next_signal() has something to say; `wall_ms` otherwise (negative: for ever).
  int wait_ms(int wall_ms) const;

 private:
  std::chrono::steady_clock::time_point kill_at_{};
  int seen_ = 0;  // interruptions
  enum class Step : std::uint8_t { kNone, kAsked, kKilled } step_ = Step::kNone;
  bool is_wanted_ = false;
};

class WorkerPool {
 public:
  // `jobs`: runs at a time, 0: one for each processor that may be used; `core`: the only processor, negative: all.
  WorkerPool(int jobs, int core);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  bool has_room() const { return !is_interrupted() && running_.size() < slots_.size(); }
  bool is_idle() const { return running_.empty(); }
  std::size_t jobs() const { return slots_.size(); }

  // `start` makes the process that runs on processor `core` (negative: any) and writes what it has to say to the file `output`;
  // its process id, negative when there is none. False: it was not started.
  bool start(std::int64_t number, const std::function<pid_t(int core, int output)>& start);

  struct Ended {
    std::int64_t number = 0;
    int status = 0;      // as waitpid() has it
    int output = -1;     // the file; whoever gets it closes it
  };
  // Waits until one has ended, or the user interrupts, or `wall_ms` have passed (negative: for ever).
  std::vector<Ended> await(int wall_ms = -1);

  // Those under way: number and process.
  std::vector<std::pair<std::int64_t, pid_t>> running() const;

  // SIGINT, SIGTERM or SIGHUP came: those under way are asked to end, and none can be started.
  bool is_interrupted() const { return Interruption::came(); }
  // Ends all that are under way; nobody hears of them.
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

// Why a process that ended so has said nothing of its run: an exit code of ours, and a sentence.
struct Silence {
  int code = 0;
  std::string sentence;
};
Silence silence_of(int status);

// What a run complained about in the file that has its output: the first sentence.
std::string first_sentence(int fd);
// All that the file holds.
std::string content_of(int fd);
// Whether all of it could be written.
bool write_all(int fd, const std::string& bytes);

}  // namespace verbatim::cli

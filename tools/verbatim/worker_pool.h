// Many runs, each in a process of its own, as many at a time as there are processors. Who starts them hears of their ends in
// whatever order they come.
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
  // `jobs`: runs at a time, 0: one for each processor that may be used; `core`: the only processor, negative: all.
  WorkerPool(int jobs, int core);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  bool has_room() const { return !is_interrupted() && pool_.free_slot(); }
  bool is_idle() const { return !pool_.any_busy(); }
  std::size_t jobs() const { return pool_.slots(); }

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
  bool is_interrupted() const { return ProcessPool::is_interrupted(); }
  // Ends all that are under way; nobody hears of them.
  void abandon();

 private:
  struct Run {
    std::int64_t number = 0;
    int output = -1;
  };

  ProcessPool pool_;
  std::vector<Run> runs_;  // by slot; valid if the slot is busy
};

// Why a process that ended so has said nothing of its run: an exit code of ours, and a sentence.
struct Silence {
  int code = 0;
  std::string sentence;
};
Silence silence_of(int status);

// First sentence of the complaint of a run, from the file with its output.
std::string first_sentence(int fd);
// All that the file holds.
std::string content_of(int fd);
// Whether all of it could be written.
bool write_all(int fd, const std::string& bytes);

}  // namespace verbatim::cli

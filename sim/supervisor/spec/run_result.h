// What a run gives: the programs' output while it goes on, and how each of them and the whole ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/time.h"
#include "sim/supervisor/spec/folder_snapshot.h"
#include "sim/supervisor/spec/blocked_thread.h"
#include "sim/supervisor/spec/queue_figures.h"
#include "sim/supervisor/spec/waiting_time.h"

namespace verbatim::supervisor {

// Complete writes of the programs, in virtual-time order.
class OutputListener {
 public:
  virtual ~OutputListener() = default;
  // `fd` is 1 or 2.
  virtual void on_output(std::size_t program, int fd, std::string_view bytes) = 0;
  // The program's first process is there, under a number of the machine's, and stands before the first instruction of its own.
  virtual void on_start(std::size_t program, int native_pid) { (void)program, (void)native_pid; }
  // The program has ended; no output of its own follows. Called at the virtual time of its end.
  virtual void on_exit(std::size_t program) { (void)program; }
};

enum class Outcome {
  kFinished,     // every program has ended by itself
  kDeadlock,     // no event is left and programs still wait, or packets of the fabric never move again
  kTimeLimit,    // Limits::virtual_end
  kStuck,        // a program gives no sign of life; see Limits::stuck_after_ms
  kInterrupted,  // SIGINT, SIGTERM or SIGHUP
  kMachine,      // the machine ended a program, or refused the run what it needs
  kNotStarted,   // a program could not be started
};

struct ProgramResult {
  bool started = false;
  bool exited = false;      // false: still running when the run ended
  int exit_code = 0;        // 0 … 255 when it exited by itself
  int signal = 0;           // the signal that ended it, 0 if none
  Instant ended{};
};

struct RunResult {
  Outcome outcome = Outcome::kFinished;
  std::vector<ProgramResult> programs;         // in the order of the specs
  bool is_fabric_deadlock = false;             // with kDeadlock: Limits::fabric_deadlock, and no lack of events
  std::vector<std::string> findings;           // why the run ended early: one sentence per blocked thread or limit
  HangCause hang_cause;                        // wait_graph.h; without text where nothing hangs
  std::vector<std::string> warnings;           // refused calls and the like, in order, each once per program
  bool exact = true;                           // false: something outside the promise was used
  std::vector<std::string> weak;               // what: one sentence each, as in `warnings`
  std::uint64_t refused_files = 0;             // how often one was asked for that the trees of a host lack
  std::uint64_t hand_overs = 0;                // times a program got the token
  std::vector<QueueFigures> queues;            // of programs that have destroyed them, or exited by themselves
  std::vector<WaitingTime> waiting;            // of threads that polled or span, by their ids
  FolderSnapshot working_files;                // of folders that programs worked in copies of
  std::vector<std::string> not_kept;           // what --keep-files could not copy: one sentence each
  std::vector<std::string> code_files;         // whose code programs ran, libraries too: paths, sorted
};

}  // namespace verbatim::supervisor

// Results of a run: output of the programs while it runs, and how each program and the run ended.
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
  // The program's first process exists, with this native pid, and has executed none of its own instructions.
  virtual void on_start(std::size_t program, int native_pid) { (void)program, (void)native_pid; }
  // The program has ended; no output of its own follows. Called at the virtual time of its end.
  virtual void on_exit(std::size_t program) { (void)program; }
};

enum class Outcome {
  kFinished,     // every program has ended by itself
  kDeadlock,     // no event is left and programs still wait, or packets of the fabric never move again
  kTimeLimit,    // Limits::virtual_end
  kStuck,        // a program does not respond; see Limits::stuck_after_ms
  kInterrupted,  // SIGINT, SIGTERM or SIGHUP
  kMachine,      // the machine ended a program, or refused something that the run needs
  kNotStarted,   // a program could not be started
};

struct ProgramResult {
  bool started = false;
  bool exited = false;      // false: still running when the run ended
  int exit_code = 0;        // 0 … 255 if it exited by itself
  int signal = 0;           // the signal that ended it, 0 if none
  Instant ended{};
};

struct RunResult {
  Outcome outcome = Outcome::kFinished;
  std::vector<ProgramResult> programs;         // in the order of the specs
  bool is_fabric_deadlock = false;  // with kDeadlock: found by Limits::fabric_deadlock, not by lack of events
  Instant idle_since = kNever;                 // with kDeadlock: only timers have fired since then (idle_watch.h)
  std::vector<std::string> findings;           // why the run ended early: one sentence per blocked thread or limit
  HangCause hang_cause;                        // see wait_graph.h; empty text: nothing hangs
  std::vector<std::string> warnings;           // refused calls and the like, in order, each once per program
  bool exact = true;                           // false: the run is weak
  std::vector<std::string> weak;               // reasons for that, one sentence each, also in `warnings`
  std::uint64_t refused_files = 0;             // number of opens of files that a host's trees lack
  bool used_adapters = false;                  // a program opened an adapter or a file of one
  std::uint64_t tcp_bytes_between_hosts = 0;   // payload that TCP sockets sent to other hosts
  std::uint64_t hand_overs = 0;                // times a program got the token
  // queues that programs have destroyed, or had when they exited by themselves
  std::vector<QueueFigures> queues;
  std::vector<WaitingTime> waiting;            // threads that polled or spun, by id
  FolderSnapshot working_files;                // of working folders of which programs used copies
  std::vector<std::string> not_kept;           // files that --keep-files could not copy: one sentence each
  std::vector<std::string> code_files;  // files whose code programs ran, libraries included: paths, sorted
};

}  // namespace verbatim::supervisor

// gdb on one program of a run, while the whole fabric waits.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "sim/core/trace.h"
#include "tools/verbatim/monitor.h"

namespace verbatim::cli {

// Which program, and from when on.
struct DebuggerSpec {
  std::size_t program = 0;  // in the order of the scenario's
  Instant from{};           // the first record of the trace that is not earlier
  std::string libraries;    // folder in which gdb finds those that programs load under other paths
  bool traps_accesses = false;  // of the program to memory (SupervisorOptions::late_accesses)
  std::string commands;     // a file that gdb reads once it holds the program; empty: none
};

// Sees every record, so it can stop the run at any of them; changes none. Once the program is there and the moment has come
// it starts gdb in this terminal and waits until that holds the program.
class Debugger final : public TraceSink {
 public:
  Debugger(const DebuggerSpec& spec, const ComponentTable& components) : spec_(spec), monitor_(components) {}
  ~Debugger();  // waits until gdb has ended
  Debugger(const Debugger&) = delete;
  Debugger& operator=(const Debugger&) = delete;

  // The program stands before its first instruction.
  void on_start(std::size_t program, pid_t native_pid, Instant now);
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  // As SupervisorOptions::while_held.
  bool on_held(supervisor::HeldRun& run) { return monitor_.serve(run); }
  // Whether gdb has asked for an earlier moment.
  bool goes_back() const { return monitor_.goes_back_to().has_value(); }
  // Executes the command that this process was started with again, with gdb at that moment. Returns when that fails: a sentence.
  std::string begin_anew();
  // A sentence when gdb could not be had, or the moment never came.
  std::string failure() const;

 private:
  void attach();
  void await_gdb();

  const DebuggerSpec spec_;
  Monitor monitor_;
  std::optional<pid_t> program_;
  pid_t gdb_ = 0;  // 0: not yet, negative: it could not be started
  bool held_ = false;
};

}  // namespace verbatim::cli

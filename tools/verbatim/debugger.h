// gdb on one program of a run, while the whole fabric is paused.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "sim/core/trace.h"
#include "tools/verbatim/monitor.h"

namespace verbatim::cli {

// The program, and the time at which gdb attaches.
struct DebuggerSpec {
  std::size_t program = 0;  // index in the scenario's programs
  Instant from{};           // gdb attaches at the first trace record that is not earlier
  std::string libraries;    // folder with the libraries that programs load under other paths
  bool traps_accesses = false;  // memory accesses of the program (SupervisorOptions::late_accesses)
  std::string commands;     // file of commands for gdb; empty: none
};

// Observes every record, so it can stop the run at any of them; it changes none. When the program exists and
// the time has come, it starts gdb in this terminal and waits until gdb has attached.
class Debugger final : public TraceSink {
 public:
  Debugger(const DebuggerSpec& spec, const ComponentTable& components) : spec_(spec), monitor_(components) {}
  ~Debugger();  // waits until gdb has ended
  Debugger(const Debugger&) = delete;
  Debugger& operator=(const Debugger&) = delete;

  // The program is about to execute its first instruction.
  void on_start(std::size_t program, pid_t native_pid, Instant now);
  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  // Called as SupervisorOptions::while_held.
  bool on_held(supervisor::HeldRun& run) { return monitor_.serve(run); }
  // Whether gdb requested an earlier time.
  bool goes_back() const { return monitor_.goes_back_to().has_value(); }
  // Executes this process's command again, with gdb at that time. Returns, with a sentence, only on failure.
  std::string begin_anew();
  // A sentence if gdb could not be started, or the time was never reached.
  std::string failure() const;

 private:
  void attach();
  void await_gdb();

  const DebuggerSpec spec_;
  Monitor monitor_;
  std::optional<pid_t> program_;
  pid_t gdb_ = 0;  // 0: not started yet; negative: could not be started
  bool held_ = false;
};

}  // namespace verbatim::cli

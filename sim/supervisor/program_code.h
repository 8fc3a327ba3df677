// Code of programs: new code is searched and its instructions whose result depends on the machine are
// replaced; calls that trap often are replaced; accesses at which threads may be late are found.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/supervisor/code/code_files.h"
#include "sim/supervisor/code/known_calls.h"
#include "sim/supervisor/run_context.h"
#include "sim/supervisor/tasks/request.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::supervisor {

class Kernel;
class Process;
class RunReport;
class Thread;

class ProgramCode {
 public:
  ProgramCode(const RunContext& run, RunReport& report, Kernel& kernel);

  code::CodeFiles& files() { return files_; }
  // Searches the files that most programs map, in a thread of its own on a processor other than `core`.
  void search_ahead(int core);

  // Searches and patches new code in the process's memory, or answers another question about it. An instruction
  // that cannot be replaced makes the run weak, except in memory of no file: there kDoubtful is answered, and
  // the runtime executes the code so that no replacement is needed.
  protocol::NewCodeAnswer search(Process& process, const request::NewCode& code);
  // Warns about the instructions that were found and not replaced.
  void report_unpatched(Process& process);
  // Replaces the instruction of a system call that traps often, if this pays, and with it those that have trapped
  // often in other processes of the run.
  protocol::CallReplacement replace_call(Process& process, const request::TrappedCall& call);
  // Writes the instructions at which the starting program's threads may be late to `attach.room`; returns
  // their number.
  std::int64_t place_accesses(Thread& thread, const request::Attach& attach);
  // For a thread at a store; see store_buffer.h.
  std::vector<std::uint64_t> loads_behind_store(Process& process, const request::Access& access);
  // Address after the load until which the store stays in the store buffer; 0: it does not wait.
  std::int64_t load_behind_store(Thread& thread, const request::Access& access);

 private:
  void report_unnoticed_changes(Process& process);
  // Probed at the first call.
  bool timestamp_counter_traps();

  const RunContext& run_;
  RunReport& report_;
  Kernel& kernel_;
  code::CodeFiles own_files_;
  code::CodeFiles& files_;
  std::optional<bool> timestamp_counter_traps_;
  code::KnownCalls known_calls_;
};

}  // namespace verbatim::supervisor

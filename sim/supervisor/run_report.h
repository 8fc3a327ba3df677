// Result of a run under construction: outcome, findings, warnings and output of programs.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sim/supervisor/run_context.h"
#include "sim/supervisor/spec/program_spec.h"
#include "sim/supervisor/spec/run_result.h"
#include "sim/supervisor/warning_log.h"

namespace verbatim::supervisor {

class Checks;
class Process;
class Thread;

class RunReport {
 public:
  explicit RunReport(const RunContext& run) : run_(run) {}

  // Called once, before everything else. Both parameters outlive the run.
  void begin(const std::vector<ProgramSpec>& programs, OutputListener& listener);

  // True: the run ends after the current event.
  bool is_finished() const { return is_finished_; }
  void finish() { is_finished_ = true; }
  void finish(Outcome outcome) {
    is_finished_ = true;
    result_.outcome = outcome;
  }
  void finish(Outcome outcome, std::string finding) {
    finish(outcome);
    result_.findings.push_back(std::move(finding));
  }

  // Warns about a process, once for each text. `weakens`: the result depends on the machine.
  void warn(Process& process, const std::string& text, bool weakens = false);
  // A sentence about the run, not about a process.
  void warn_of_run(std::string sentence);
  // While `thread` is not nullptr: a call of this thread is executed before its time, and warnings are
  // emitted at that time.
  void warn_at_time_of(Thread* thread) { early_caller_ = thread; }
  // At the end of the run: sentences about warnings and findings that were only counted.
  void warn_of_rest(const Checks& checks);

  void output(Process& process, int fd, std::span<const std::byte> bytes);
  void program_started(std::size_t program, int native_pid) { listener_->on_start(program, native_pid); }
  void program_ended(std::size_t program) { listener_->on_exit(program); }
  void count_hand_over() { ++result_.hand_overs; }

  // "client: app (pid 1000)".
  std::string title(const Process& process) const;
  // Title of a program with all its processes, "client: app": host and the name that started it.
  std::string title_of_program(std::size_t program) const;

  const std::vector<ProgramSpec>& programs() const { return *programs_; }
  RunResult& result() { return result_; }

 private:
  const RunContext& run_;
  const std::vector<ProgramSpec>* programs_ = nullptr;
  OutputListener* listener_ = nullptr;
  Thread* early_caller_ = nullptr;
  bool is_finished_ = false;
  RunResult result_;
  std::map<std::size_t, WarningLog> warning_logs_;  // by program
};

}  // namespace verbatim::supervisor

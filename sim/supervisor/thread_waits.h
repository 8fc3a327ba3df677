// Waits of the threads of a run: for the report of a run that hangs, and while a debugger holds a program.
#pragma once

#include <string>
#include <vector>

#include "sim/supervisor/run_context.h"
#include "sim/supervisor/spec/blocked_thread.h"

namespace verbatim::supervisor {

class Process;
class ProcessList;
class RunReport;
class Thread;

class ThreadWaits {
 public:
  ThreadWaits(const RunContext& run, RunReport& report, const ProcessList& processes)
      : run_(run), report_(report), processes_(processes) {}

  // One sentence for each waiting thread. `for_ever`: nothing will end the waits.
  std::vector<std::string> sentences(bool for_ever) const;
  // Adds them to the findings of the run, with the cause of the hang.
  void report(bool for_ever);
  // Calls SupervisorOptions::while_held: a debugger holds `process`, whose thread `holder` has the token;
  // nullptr: the process has just started. True: the run is to end.
  bool report_holding(Process& process, Thread* holder);

 private:
  class Held;
  std::vector<BlockedThread> blocked_threads(bool for_ever) const;

  const RunContext& run_;
  RunReport& report_;
  const ProcessList& processes_;
};

}  // namespace verbatim::supervisor

// Effects of the machine on a run, which are no events of it. A program that is killed from outside, or for
// which the machine has no room, ends the run with Outcome::kMachine. A refusal that the program can notice,
// or a signal from outside, makes the run weak.
#pragma once

#include "sim/supervisor/tasks/request.h"

namespace verbatim::supervisor {

class Process;
class ProcessList;
class RunReport;
class Thread;

class MachineWatch {
 public:
  explicit MachineWatch(RunReport& report) : report_(report) {}

  // The machine refused a call of the process.
  void note_refusal(Process& process, const request::MachineRefusal& refusal);
  // The process ends. Small allocations are not reported to the simulator. If its memory was close to the
  // machine's limit, one may have been refused, and the program may have behaved differently than elsewhere.
  void note_memory_near_limit(Process& process);
  // The process has just started.
  void note_other_layout(Process& process);
  void note_refused_heap(Process& process);
  // The thread is about to die of a signal of its own, or made a foreign call.
  void warn_of_fault(Thread& thread, const request::Fault& fault);
  // Signals that the shim has received from outside of the simulation.
  void note_outside_signals(Process& process);
  // Checks that the wait status of an ended process has a cause in the simulation.
  void check_end_was_simulated(Process& process, int status);
  // A process that has ended without a token must not have run outside the simulation.
  void check_ran_in_simulation(const Process& process);
  // A process that has ended while none of its threads was to run; nullptr: none.
  static Process* ended_from_outside(const ProcessList& processes);

 private:
  RunReport& report_;
  bool warned_of_layout_ = false;
};

}  // namespace verbatim::supervisor

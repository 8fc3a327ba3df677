// Runs unmodified programs as Linux processes in virtual time.
//
// Scheduling. There is one token: at any moment either the engine steps or exactly one program thread runs. A
// runnable thread is a timer of the engine (class kProgram, source: the thread's own component). Events and
// threads therefore share one total order (time, class, component, number), and the least entry runs next.
// Components of threads are numbered in the order in which the run creates the threads; no two entries tie. A
// blocked thread is registered with the files, futex words or children that it waits for, and has a timer
// only for its deadline. When one of them changes, the threads that it wakes get timers at now + wake_up_ps
// of their host's profile, + event_wake_up_ps if an adapter's event woke them, + the delay that Choices draws
// (profile `spec`). Each repeats its whole call when its timer fires; a thread that finds nothing blocks
// again. Threads woken for the same time run in the order of their components.
//
// Cost of calls. Computation between calls takes no virtual time. An intercepted call takes the time
// that the host's profile states, before its effect: the thread returns the token with a request,
// becomes a timer at its clock + the call's cost, and the effect happens when that timer fires. Threads
// of one host do not compete for processors: two that compute do so at the same virtual time, one after
// the other in the order above.
//
// Preemption. Another thread can run between two calls of a thread, not between two instructions: what a
// thread does between two calls is atomic for all others, and so is everything that it does at one virtual
// time. A signal is therefore delivered with the next token, before the call that the thread is in returns; a
// stop or SIGKILL takes effect between two calls. There are two exceptions. A thread that waits by running is
// poked after some real time; if its machine code proves that only an outside change can end its loop, it is
// parked until the memory that it reads changes (tasks/parking.h). The time of the poke decides how much
// processor time is spent, and nothing else. With SupervisorOptions::late_accesses, accesses to memory that
// others may touch trap, and other threads can run before them (verbs_shim/protocol/accesses.h).
//
// Slices. In mode kCallByCall a thread has the token for one call. In mode kSlices it keeps the token until
// its horizon, the earliest virtual time at which anything outside the thread could affect or observe it
// (scheduling/horizon.h). Until then the shim answers clock reads, polls, posts and the system calls that
// need no supervisor (kLocal, … in verbs_shim/protocol/system_calls.h) by itself, and adds their cost to the
// thread's clock, which runs ahead of the engine's. Calls of class kPassing do not trap: they keep the token
// in both modes and take no virtual time. Every other call gives the token back, with one exception: if the
// same call found nothing before and the horizon is not reached, the shim repeats the answer
// (verbs_shim/protocol/repeated_calls.h). The supervisor executes a call at once, without stepping the engine
// up to its time, if the call concerns its own host alone and is due before the horizon
// (TokenKeeper::answer_ahead); the thread then continues its slice. Nothing before the horizon can differ.
// Both modes therefore give the same trace, and the length of a slice is no part of the result.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "sim/core/failing_calls.h"
#include "sim/core/trace.h"
#include "sim/supervisor/spec/host_spec.h"
#include "sim/supervisor/spec/network_spec.h"
#include "sim/supervisor/spec/options.h"
#include "sim/supervisor/spec/program_call.h"
#include "sim/supervisor/spec/program_spec.h"
#include "sim/supervisor/spec/run_result.h"

namespace verbatim::supervisor {

class Supervisor {
 public:
  Supervisor(Engine& engine, Tracer& tracer, Choices& choices, const ComponentTable& components,
             std::vector<HostSpec> hosts, const ManagementNetworkSpec& network, const SupervisorOptions& options);
  ~Supervisor();

  // Resolves the program as execvp does and returns why it cannot be simulated: not found, not executable,
  // static, set-user-id, foreign architecture, a symbol version that the libraries in `shim_directory` lack
  // (empty: versions are not compared). Empty: it can. Starts nothing. `files`: those that the program is in;
  // nullptr: the machine's.
  static std::string reject_reason(const ProgramSpec& program, const std::string& shim_directory, std::string* resolved_path,
                                   MachineFiles* files = nullptr);

  // Tries every facility of this machine or container that a run needs. Runs are possible
  // if none is kMissing.
  static std::vector<Facility> check_host(const MachineFacilities& assumed);

  // Selects calls that fail although they could succeed; without this none does. Called before run();
  // `calls` outlives the run.
  void use_failing_calls(FailingCalls& calls);
  // `listener` gets every call of a program that reaches the shim, at its begin and at its end. Complete only
  // with Mode::kCallByCall: in slices the polls of a parked thread are not executed. Called before run().
  void report_calls_to(std::function<void(const ProgramCall&)> listener);

  // Runs the programs until all have ended and SupervisorOptions::has_other_work returns false, no event is
  // left, or a limit is reached. Leaves no process behind. Called once.
  RunResult run(const std::vector<ProgramSpec>& programs, OutputListener& output);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace verbatim::supervisor

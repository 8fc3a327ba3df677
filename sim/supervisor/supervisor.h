// Runs unmodified programs as Linux processes in virtual time.
//
// Who runs next. There is one token: at any moment either the engine steps or exactly one program thread
// runs. A thread that may run is a timer of the engine (class kProgram, the thread's own component), so
// events and threads stand in one total order of (time, class, component, number), and whatever has the least
// virtual time goes next. Components of threads are numbered as the threads are made, which the run itself
// orders; no two entries can tie. A thread that waits is on the lists of the files, words or children that it
// waits for, and has a timer only for its deadline. When one of them changes, all who wait for it become
// timers at now + wake_up_ps of their host's profile (with event_wake_up_ps when it is an event of an adapter, and
// what Choices adds under profile `spec`), in the order in which they came to wait; each tries its whole call
// again at its own time, and the one that finds nothing left goes on waiting.
//
// What takes time. Computation between calls takes none. Each intercepted call takes what the host's profile
// says, before it has its effect: a thread gives the token back with a request, becomes a timer at its clock
// + the call's cost, and the effect happens when that timer is stepped. Threads of one host do not compete
// for its processor: two that compute do so at the same virtual time, one after the other in the order above.
//
// Where a thread can be preempted. Only in a call, never between two instructions: what a thread does between
// two calls is atomic for everybody else, and so is everything that it does at one virtual time. A signal is
// therefore delivered with the next token, before the call that the thread was in returns; a process that is
// stopped or killed is so between two calls of each of its threads. The one exception is a thread that waits
// by running: it is poked after some real time, and if its machine code proves that nothing but the outside
// can end its loop, it is parked until what it reads changes (parking.h). When the poke comes decides how
// much processor time is burnt, and nothing else.
//
// The quantum. Call by call, a thread has the token for one call. In slices it keeps the token up to a
// horizon, the earliest virtual time at which anything outside could notice it or be noticed (horizon.h): the
// next event that touches its host, or that could through a link's least latency; the next thread of its own
// host, which may share memory with it; and its own doorbells' first effects. Up to there it answers clock
// reads, polls and posts itself, from shared memory, and its clock runs ahead of the engine's. System calls
// always give the token back. Since nothing before the horizon can differ, both modes give the same trace,
// and the length of a slice is no part of the result.
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

  // Finds a program as execve would and tells why it cannot be simulated: not found, not executable, static,
  // setuid, foreign architecture. Empty when it can. Nothing is started.
  static std::string reject_reason(const ProgramSpec& program, std::string* resolved_path);

  // Everything that a run needs of this machine or container, tried out. It can run when nothing is missing.
  static std::vector<Facility> check_host(const MachineFacilities& assumed);

  // Which calls fail though they need not; none without. Before run(), which it outlives.
  void use_failing_calls(FailingCalls& calls);
  // `listener` is told of every call of a program that comes to the shim, as it begins and when it has ended. Complete with
  // Mode::kCallByCall alone: in slices a thread that waits by asking makes few of its calls. Before run().
  void tell_calls_to(std::function<void(const ProgramCall&)> listener);

  // Runs the programs until all have ended and SupervisorOptions::has_other_work says no, nothing can happen any more, or a limit
  // is reached; no process is left behind. Called once.
  RunResult run(const std::vector<ProgramSpec>& programs, OutputListener& output);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace verbatim::supervisor

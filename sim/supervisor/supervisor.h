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

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/hca/hca.h"
#include "sim/ib/port_counters.h"
#include "sim/supervisor/code/processor.h"
#include "sim/supervisor/huge_pages.h"
#include "sim/supervisor/launcher.h"
#include "sim/supervisor/waiting_times.h"
#include "verbs_shim/protocol/region.h"

namespace verbatim::cm {
class RdmaCm;
}

namespace verbatim::supervisor {

struct HostSpec {
  std::string name;
  ComponentId component;               // source of the events of this host's programs
  std::uint32_t address = 0;           // IPv4, host byte order
  std::vector<hca::Hca*> devices;      // in the order in which programs see them
  cm::RdmaCm* rdma_cm = nullptr;       // what /dev/infiniband/rdma_cm leads to; null: the host has none
  protocol::CallCosts costs;
  std::uint64_t timestamp_counter_hz = 2'000'000'000;
  code::InstructionSet instruction_set = code::InstructionSet::kX86_64V2;
  HugePageCounts huge_pages = kUsualHugePages;
  int open_files = protocol::kUsualDescriptors;  // RLIMIT_NOFILE of first programs
  std::function<ib::PortCounters(std::size_t device)> port_counters;  // now; empty: all are zero
};

enum class NetworkProtocol : std::uint8_t { kTcp, kUdp };

// What becomes of one TCP segment or UDP datagram on its way.
struct NetworkFate {
  bool is_lost = false;
  Duration delay{0};
};

// The network that TCP and UDP between hosts ride on: every pair of hosts is connected, with one rate for each
// connection's or pair's direction.
struct ManagementNetworkSpec {
  Duration latency{20'000'000};                // one way
  std::uint64_t bits_per_second = 10'000'000'000;
  // Asked about everything that leaves a host for another one, at the virtual time `when` at which it does, its
  // repetitions included. Empty: nothing is lost.
  std::function<NetworkFate(NetworkProtocol, std::size_t from, std::size_t to, Instant when)> faults;
};

// Content of a file that a host is given.
struct GivenFile {
  std::string content;
  bool executable = false;
};

struct ProgramSpec {
  std::size_t host = 0;                        // index into the hosts
  std::vector<std::string> arguments;          // argv; [0] is looked up in PATH unless it has a slash
  std::map<std::string, std::string> environment;  // beyond the fixed base environment
  std::string working_directory;               // empty: the caller's
  std::map<std::string, GivenFile> files;      // in the host's own folders before the start, by path
  Instant start{};
  Instant kill = kNever;                       // by SIGKILL
  bool background = false;                     // gets SIGTERM when all programs without this mark have ended
};

struct Limits {
  Instant virtual_end = kEndOfTime;            // --time-limit; not later
  std::int64_t stuck_after_ms = 60'000;        // wall time one program may compute or sleep without a call
};

// Two ways to run, one result. Call by call is the oracle: every intercepted call hands the token over. In slices a
// thread answers its calls itself up to a horizon before which nothing outside can notice or change anything.
enum class Mode { kSlices, kCallByCall };

// What the machine is relied on for; found out by `verbatim check --host`, or taken away by --assume-missing, which makes
// every run go the second way.
struct MachineFacilities {
  bool timestamp_counter_trap = true;  // PR_SET_TSC stops the instructions that nothing was put in the place of
  bool jumps = true;                   // replaced instructions are jumps where one fits; otherwise all trap
  bool loader_breakpoints = true;      // otherwise every system call of the loader is looked at
  bool overcommit = true;              // the shim's heap is reserved in full size
  bool removable_vdso = true;          // otherwise it stays where it is, and nobody is told

  // Names for --assume-missing.
  static std::vector<std::string> replaceable();
  // False: there is no such facility.
  bool assume_missing(std::string_view name);
};

// One line of `verbatim check --host`.
struct Facility {
  enum class State { kWorks, kOtherMeans, kMissing };
  std::string name, what;
  State state = State::kWorks;
  std::string consequence;  // why it does not work, and what follows or what to do
};

struct SupervisorOptions {
  Mode mode = Mode::kSlices;
  std::uint64_t seed = 1;
  std::int64_t epoch_ns = 1'700'000'000'000'000'000;  // CLOCK_REALTIME at virtual time 0
  std::int64_t poke_period_us = 50;            // wall time after which a thread without a call is looked at
  int core = -1;                               // CPU everything runs on; -1: the first allowed one
  std::string shim_directory;                  // holds libverbatim_runtime.so, libibverbs.so.1, libmlx5.so.1
  std::string keep_files_in;                   // folder that gets the files of the hosts' own folders; empty: none
  // Called for each host that had programs when all have ended: what they left in the host's own folders, which lie in
  // `folder`; `made_first` were there before them. Sentences that it returns become warnings.
  std::function<std::vector<std::string>(ComponentId host, const std::string& folder,
                                         const std::set<std::string>& made_first)>
      on_files;
  bool lets_unknown_calls_through = false;  // what is not simulated reaches the machine; the run is then weak
  MachineFacilities machine;
  Limits limits;
  // Who starts processes; empty: launch() of launcher.h. A test may put something there that is no program.
  std::function<LaunchedProcess(const LaunchRequest&)> launcher;
};

// Complete writes of the programs, in virtual-time order.
class OutputListener {
 public:
  virtual ~OutputListener() = default;
  // `fd` is 1 or 2.
  virtual void on_output(std::size_t program, int fd, std::string_view bytes) = 0;
  // The program has ended; no output of its own follows. Called at the virtual time of its end.
  virtual void on_exit(std::size_t program) { (void)program; }
};

enum class Outcome {
  kFinished,     // every program has ended by itself
  kDeadlock,     // no event is left and programs still wait
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
  std::vector<std::string> findings;           // why the run ended early: one sentence per blocked thread or limit
  std::vector<std::string> warnings;           // refused calls and the like, in order, each once per program
  bool exact = true;                           // false: something outside the promise was used
  std::vector<std::string> weak;               // what: one sentence each, as in `warnings`
  std::uint64_t refused_files = 0;             // how often one was asked for that the trees of a host lack
  std::uint64_t hand_overs = 0;                // times a program got the token
  std::vector<WaitingTime> waiting;            // of threads that polled or span, by their ids
};

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

  // Runs the programs until all have ended, nothing can happen any more, or a limit is reached; no process is
  // left behind. Called once.
  RunResult run(const std::vector<ProgramSpec>& programs, OutputListener& output);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace verbatim::supervisor

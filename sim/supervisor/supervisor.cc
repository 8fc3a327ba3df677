#include "sim/supervisor/supervisor.h"

#include <fcntl.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/supervisor/call_places.h"
#include "sim/supervisor/clock_follower.h"
#include "sim/supervisor/idle_watch.h"
#include "sim/supervisor/immediate_answers.h"
#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/machine/library_versions.h"
#include "sim/supervisor/machine/launcher.h"
#include "sim/supervisor/machine_watch.h"
#include "sim/supervisor/parking_lot.h"
#include "sim/supervisor/process_factory.h"
#include "sim/supervisor/process_lifetimes.h"
#include "sim/supervisor/process_list.h"
#include "sim/supervisor/program_code.h"
#include "sim/supervisor/program_starts.h"
#include "sim/supervisor/run_after_run.h"
#include "sim/supervisor/run_files.h"
#include "sim/supervisor/run_memory.h"
#include "sim/supervisor/run_report.h"
#include "sim/supervisor/slice_horizon.h"
#include "sim/supervisor/terminals.h"
#include "sim/supervisor/thread_runner.h"
#include "sim/supervisor/thread_times.h"
#include "sim/supervisor/thread_waits.h"
#include "sim/supervisor/token_keeper.h"

namespace verbatim::supervisor {

namespace {

int chosen_core(int wanted) {
  if (wanted >= 0) return wanted;
  // The kernel's choice for the simulator: concurrent runs get different CPUs while there are enough.
  return std::max(sched_getcpu(), 0);
}

// A spinning program shares the CPU with the simulator. With a short slice of its own the simulator is
// scheduled soon after a timeout (Linux 6.12 and later), not when the program's slice of some milliseconds
// ends. No effect on older kernels.
void ask_for_short_slice() {
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime_ns, deadline, period;
  } attributes{48, SCHED_OTHER, 0, getpriority(PRIO_PROCESS, 0), 0, 100'000, 0, 0};
  syscall(SYS_sched_setattr, 0, &attributes, 0);
  prctl(PR_SET_TIMERSLACK, 1);
}

// Raises the soft limits to the hard ones: the region shared with a program is a large sparse file.
void raise_own_limits() {
  for (const auto resource : {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit;
    if (getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
  }
}

// Enlarges the descriptor table before a second thread exists: with two threads the kernel takes milliseconds
// for it.
void enlarge_descriptor_table() {
  const int high = fcntl(0, F_DUPFD_CLOEXEC, own_descriptors().at_first + protocol::kOwnDescriptors);
  if (high >= 0) close(high);
}

}  // namespace

// Builds the parts of the supervisor, connects them, and has the main loop.
class Supervisor::Impl final : public ProcessTable {
 public:
  Impl(Engine& engine, Tracer& tracer, Choices& choices, const ComponentTable& components,
       std::vector<HostSpec> hosts, const ManagementNetworkSpec& network, const SupervisorOptions& options);
  ~Impl() override { lifetimes_.kill_all(); }

  void use_failing_calls(FailingCalls& calls) { kernel_.use_failing_calls(calls); }
  void report_calls_to(std::function<void(const ProgramCall&)> listener) {
    answers_.report_calls_to(std::move(listener));
  }
  RunResult run(const std::vector<ProgramSpec>& programs, OutputListener& listener);

 private:
  // ProcessTable, for the kernel
  std::uint32_t new_pid() override { return processes_.new_pid(); }
  int start_remote(Thread& asking, std::uint32_t address, std::uint16_t port) override {
    return starts_.add_remote(asking, address, port);
  }
  const std::vector<std::unique_ptr<Process>>& processes() const override { return processes_.all(); }
  Ended ended_on(std::size_t host) const override { return processes_.ended_on(host); }
  void note_use_of_adapter(std::size_t host) override {
    report_.result().used_adapters = true;
    horizon_.note_use_of_adapter(host);
    token_.note_use_of_adapter();
  }
  void signal_process(Process& process, int signal, const SignalOrigin& origin) override {
    lifetimes_.signal(process, signal, origin);
  }

  void begin(const std::vector<ProgramSpec>& programs, OutputListener& listener);
  void schedule(const std::vector<ProgramSpec>& programs);
  // Executes the next event, or finds that there is none.
  void step();
  void end_at(Instant end);
  void retire_ended();
  // Completes the result, and removes what the run has left.
  void finish();
  void log_loops(Process& process) const;

  const std::vector<HostSpec> hosts_;
  const SupervisorOptions options_;
  const RunContext run_;
  Horizon horizon_;
  RunReport report_;
  RunMemory memory_;
  Kernel kernel_;
  MachineWatch watch_{report_};
  RunFiles files_{run_, report_, kernel_};
  ProgramCode code_{run_, report_, kernel_};
  ProcessList processes_{hosts_.size()};
  IdleWatch idle_{run_, kernel_, processes_};
  SliceHorizon slices_{run_, horizon_, processes_, idle_.next_look()};
  ThreadTimes times_{report_};
  ThreadWaits waits_{run_, report_, processes_};
  CallPlaces places_{options_};
  ParkingLot lot_{run_, processes_, times_, kernel_.checks()};
  ClockFollower clocks_{run_, slices_, lot_};
  ImmediateAnswers answers_{run_, {kernel_, code_, watch_, files_, lot_}};
  ProcessLifetimes lifetimes_{run_, {report_, processes_, kernel_, watch_, memory_}, horizon_.furthest_lead()};
  TokenKeeper token_{run_,
                     {report_, processes_, horizon_, slices_, kernel_, memory_, lot_, times_, code_, answers_,
                      lifetimes_, watch_, places_, waits_}};
  ThreadRunner runner_{
      run_,
      {report_, processes_, kernel_, token_, lot_, clocks_, code_, factory_, lifetimes_, watch_, places_}};
  ProcessFactory factory_{run_,
                          {report_, processes_, horizon_, kernel_, memory_, files_, code_, watch_, lot_,
                           token_, lifetimes_, runner_}};
  ProgramStarts starts_{run_, {report_, processes_, slices_, kernel_, files_, factory_, lifetimes_}};
  std::optional<Terminals> terminals_;  // nullopt: no terminal has a user
};

Supervisor::Impl::Impl(Engine& engine, Tracer& tracer, Choices& choices, const ComponentTable& components,
                       std::vector<HostSpec> hosts, const ManagementNetworkSpec& network,
                       const SupervisorOptions& options)
    : hosts_(std::move(hosts)),
      options_(options),
      run_{engine, tracer, choices, hosts_, options_},
      horizon_(engine, hosts_, network.latency, static_cast<std::uint32_t>(components.size())),
      report_(run_),
      memory_(hosts_.size()),
      kernel_(
          engine, tracer, hosts_, network, options_, *this,
          [this](Process& process, int fd, std::span<const std::byte> bytes) {
            report_.output(process, fd, bytes);
          },
          [this](Process& process, const std::string& text, bool weakens) {
            report_.warn(process, text, weakens);
          },
          [this](Process& process) { return factory_.make_thread(process); }) {
  if (options_.run_after_run != nullptr) kernel_.use_passage(options_.run_after_run->passage());
  lifetimes_.report_program_ends_to([this](std::size_t program) { starts_.cancel_kill(program); });
}

RunResult Supervisor::Impl::run(const std::vector<ProgramSpec>& programs, OutputListener& listener) {
  cpu_set_t before;
  sched_getaffinity(0, sizeof before, &before);
  begin(programs, listener);
  schedule(programs);
  const auto goes_on = [this] {
    return starts_.any_left() || processes_.any_alive() ||
           (options_.has_other_work && options_.has_other_work());
  };
  while (!report_.is_finished() && goes_on()) {
    if (terminals_ && terminals_->attend()) continue;
    step();
  }
  finish();
  sched_setaffinity(0, sizeof before, &before);
  return std::move(report_.result());
}

void Supervisor::Impl::begin(const std::vector<ProgramSpec>& programs, OutputListener& listener) {
  report_.begin(programs, listener);
  processes_.begin(programs, options_.seed);
  raise_own_limits();
  kernel_.copy_descriptors(options_.machine.descriptor_copies);
  const int core = chosen_core(options_.core);
  factory_.begin(core, answers_.reports_calls());
  enlarge_descriptor_table();
  code_.search_ahead(core);
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
  ask_for_short_slice();
  token_.begin(core, allowed);
}

void Supervisor::Impl::schedule(const std::vector<ProgramSpec>& programs) {
  files_.make(programs);
  if (options_.terminal_user != nullptr) {
    terminals_.emplace(run_, Terminals::Parts{report_, processes_, kernel_, token_, starts_},
                       *options_.terminal_user);
    factory_.use(*terminals_);
    lifetimes_.use(*terminals_);
  }
  for (const ProgramSpec& program : programs) {
    starts_.add(program);
    if (program.on_terminal && terminals_)
      terminals_->add(program.host, program.on_terminal->rows, program.on_terminal->columns);
  }
}

void Supervisor::Impl::step() {
  if (run_.engine.empty()) {
    if (Process* const ended = MachineWatch::ended_from_outside(processes_)) return lifetimes_.end(*ended);
    // The run ends at the last call, also if that was executed ahead of the engine and waits for ever.
    run_.engine.run_until(std::max(run_.engine.now(), token_.called_ahead()));
    report_.finish(Outcome::kDeadlock);
    return waits_.report(true);
  }
  if (const Instant end = slices_.virtual_end(), next = run_.engine.next_event_time(); next > end) {
    if (end != idle_.next_look() || end == options_.limits.virtual_end) return end_at(end);
    if (!idle_.finds_hang(next)) return;
    report_.result().idle_since = idle_.last_progress();
    return end_at(end);
  }
  run_.engine.step();
  if (processes_.some_have_ended()) retire_ended();
  if (token_.interrupted() && !report_.is_finished()) {
    report_.finish(Outcome::kInterrupted);
    waits_.report(false);
  }
}

// The run ends at the limit, not at the last event: parked threads have been waiting until then.
void Supervisor::Impl::end_at(Instant end) {
  run_.engine.run_until(end);
  const bool is_limit = end == options_.limits.virtual_end;
  report_.result().is_fabric_deadlock = !is_limit && report_.result().idle_since == kNever;
  report_.finish(is_limit ? Outcome::kTimeLimit : Outcome::kDeadlock);
  waits_.report(false);
  for (const auto& process : processes_.all()) {
    for (const auto& thread : process->threads()) {
      if (thread->parking.loop() != nullptr) times_.of(*thread).parked += end - run_.engine.now();
    }
  }
}

void Supervisor::Impl::retire_ended() {
  processes_.retire_ended([this](Process& process) {
    log_loops(process);
    token_.forget(process);
  });
}

void Supervisor::Impl::finish() {
  for (const auto& process : processes_.all()) log_loops(*process);
  token_.log();
  for (const auto& process : processes_.all()) {
    if (!process->alive) continue;
    for (const auto& thread : process->threads()) thread->report_wait();
  }
  lifetimes_.kill_all();
  if (options_.terminal_user != nullptr) options_.terminal_user->on_run_end();
  report_.warn_of_rest(kernel_.checks());
  RunResult& result = report_.result();
  result.waiting = times_.all();
  result.code_files = code_.files().paths();
  result.queues = kernel_.checks().figures();
  files_.finish([this] { return token_.interrupted(); });
  result.refused_files = kernel_.refused_files();
  result.tcp_bytes_between_hosts = kernel_.tcp_bytes_between_hosts();
}

void Supervisor::Impl::log_loops(Process& process) const {
  if (process.analyst() == nullptr) return;
  const auto& counts = process.analyst()->counts();
  spdlog::debug(
      "{}: {} reads of clocks followed, {} loops analysed, {} known ones met again, {} continued, {} asked by their own jump, "
      "{} not proven{}",
      report_.title(process), counts.clock_reads, counts.proofs, counts.repeats, counts.continued, counts.trapped,
      counts.refusals, counts.refusals > 0 ? "; the last " + process.analyst()->refusal() : "");
}

Supervisor::Supervisor(Engine& engine, Tracer& tracer, Choices& choices, const ComponentTable& components,
                       std::vector<HostSpec> hosts, const ManagementNetworkSpec& network,
                       const SupervisorOptions& options)
    : impl_(std::make_unique<Impl>(engine, tracer, choices, components, std::move(hosts), network, options)) {
}

Supervisor::~Supervisor() = default;

std::string Supervisor::reject_reason(const ProgramSpec& program, const std::string& shim_directory,
                                       std::string* resolved_path, MachineFiles* files) {
  if (program.arguments.empty()) return "the command is empty";
  NativeOf native_of;
  if (files != nullptr) native_of = [files](const std::string& path) { return files->content(files->real_path(path)); };
  std::string path;
  std::string reason =
      inspect_program(program.arguments[0], program.working_directory, &path, native_of).reason;
  // A program of a record has run there.
  if (reason.empty() && !shim_directory.empty() && files == nullptr)
    reason = missing_version(path, program.environment, shim_directory);
  if (resolved_path != nullptr) *resolved_path = path;
  return reason;
}

void Supervisor::use_failing_calls(FailingCalls& calls) { impl_->use_failing_calls(calls); }

void Supervisor::report_calls_to(std::function<void(const ProgramCall&)> listener) {
  impl_->report_calls_to(std::move(listener));
}

RunResult Supervisor::run(const std::vector<ProgramSpec>& programs, OutputListener& output) {
  return impl_->run(programs, output);
}

}  // namespace verbatim::supervisor

#include "sim/supervisor/supervisor.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "sim/supervisor/device_files.h"
#include "sim/supervisor/horizon.h"
#include "sim/supervisor/kernel.h"
#include "sim/supervisor/launcher.h"
#include "sim/supervisor/parking.h"
#include "sim/supervisor/process.h"
#include "sim/supervisor/token.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint32_t kFirstPid = 1000;

int chosen_core(int wanted) {
  if (wanted >= 0) return wanted;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) return core;
  }
  return 0;
}

// A program that spins shares the processor with us: with a short slice of our own the Linux scheduler (6.12 and later)
// lets us in soon after a timeout, not when the program's slice of some milliseconds is over. Elsewhere no effect.
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

std::string seconds(Instant when) {
  const std::int64_t ns = to_ps(when) / 1000;
  return fmt::format("{}.{:09} s", ns / 1'000'000'000, ns % 1'000'000'000);
}

}  // namespace

class Supervisor::Impl {
 public:
  Impl(Engine& engine, Tracer& tracer, Choices& choices, const ComponentTable& components,
       std::vector<HostSpec> hosts,
       const ManagementNetworkSpec& network, const SupervisorOptions& options)
      : engine_(engine),
        tracer_(tracer),
        choices_(choices),
        hosts_(std::move(hosts)),
        options_(options),
        horizon_(engine, hosts_, static_cast<std::uint32_t>(components.size())),
        token_(options_.limits.stuck_after_ms, options_.poke_period_us),
        kernel_(
            engine, tracer, hosts_, network, options_,
            [this](Process& process, int fd, std::span<const std::byte> bytes) { output(process, fd, bytes); },
            [this](Process& process, const std::string& text) { warn(process, text); },
            [this](Process& process) { return make_thread(process); }) {}

  ~Impl() { kill_all(); }

  RunResult run(const std::vector<ProgramSpec>& programs, OutputListener& listener);

 private:
  // The start of one program.
  struct Start {
    Start(Impl& owner, std::size_t index, ComponentId component)
        : impl(owner),
          program(index),
          timer(owner.engine_, component, EventClass::kProgram, this, [](void* self) {
            auto* start = static_cast<Start*>(self);
            start->impl.start(start->program);
          }) {}
    Impl& impl;
    std::size_t program;
    Timer timer;
  };

  void start(std::size_t program);
  Thread* make_thread(Process& process);
  void on_thread(Thread& thread);
  // The thread's answer is in place: it runs until its next request.
  void resume(Thread& thread, const Answer& answer);
  void take_request(Process& process);
  bool wait_for_message(Process& process);
  bool take_request_of(Thread& thread);
  bool take_poke(Thread& thread);
  bool park_poll(Thread& thread);
  LoopAnalyst& analyst_of(Process& process);
  void check_watched(Process& ran);
  bool watched_bytes_changed(Thread& thread);
  void on_memory_written(Process& process, std::uint64_t address, std::size_t length);
  bool alone_on_host(const Thread& thread, std::size_t host) const;
  bool someone_parked(std::size_t host) const;
  std::string why_not_parked(Process& process);
  bool take_slice(Thread& thread);
  void ring(Thread& thread, protocol::DoorbellKind kind, std::uint64_t context, std::uint32_t number,
            std::uint64_t value);
  void end_thread(Thread& thread);
  void end(Process& process);
  void reap(Process& process);
  void kill_all();
  void output(Process& process, int fd, std::span<const std::byte> bytes);
  void warn(Process& process, const std::string& text);
  std::string title(const Process& process) const {
    return fmt::format("{}: {} (pid {})", process.host().name, process.name(), process.pid());
  }
  void finish(Outcome outcome, std::string finding) {
    finished_ = true;
    result_.outcome = outcome;
    result_.findings.push_back(std::move(finding));
  }
  void report_deadlock();
  bool any_alive() const {
    return std::any_of(processes_.begin(), processes_.end(), [](const auto& p) { return p->alive; });
  }

  Engine& engine_;
  Tracer& tracer_;
  Choices& choices_;
  std::vector<HostSpec> hosts_;
  SupervisorOptions options_;
  Horizon horizon_;
  TokenWait token_;
  Kernel kernel_;
  const std::vector<ProgramSpec>* programs_ = nullptr;
  OutputListener* listener_ = nullptr;
  std::vector<std::unique_ptr<Start>> starts_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::size_t not_started_ = 0;
  std::uint32_t next_tid_ = 0;
  int core_ = 0;
  Thread* running_ = nullptr;  // whoever got the token last
  Thread* died_ = nullptr;     // its process has ended while it held the token
  Instant granted_{};          // horizon of the current slice
  Instant slice_end_{};        // clock of the thread that gave the token back
  bool finished_ = false;
  RunResult result_;
};

RunResult Supervisor::Impl::run(const std::vector<ProgramSpec>& programs, OutputListener& listener) {
  programs_ = &programs;
  listener_ = &listener;
  result_.programs.resize(programs.size());
  not_started_ = programs.size();
  next_tid_ = kFirstPid + static_cast<std::uint32_t>(programs.size());

  rlimit descriptors;
  if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
    descriptors.rlim_cur = descriptors.rlim_max;
    setrlimit(RLIMIT_NOFILE, &descriptors);
  }
  core_ = chosen_core(options_.core);
  cpu_set_t before, one;
  sched_getaffinity(0, sizeof before, &before);
  CPU_ZERO(&one);
  CPU_SET(core_, &one);
  sched_setaffinity(0, sizeof one, &one);
  ask_for_short_slice();

  for (std::size_t i = 0; i < programs.size(); ++i) {
    starts_.push_back(std::make_unique<Start>(*this, i, hosts_[programs[i].host].component));
    starts_.back()->timer.schedule_at(programs[i].start);
  }

  while (!finished_ && (not_started_ > 0 || any_alive())) {
    if (engine_.empty()) {
      report_deadlock();
    } else if (engine_.next_event_time() > options_.limits.virtual_end) {
      finish(Outcome::kTimeLimit,
             fmt::format("the limit of {} virtual time was reached", seconds(options_.limits.virtual_end)));
    } else {
      engine_.step();
      if (token_.interrupted() && !finished_) finish(Outcome::kInterrupted, "the run was interrupted");
    }
  }
  for (const auto& process : processes_) {
    if (process->analyst() == nullptr) continue;
    const auto& counts = process->analyst()->counts();
    spdlog::debug("{}: {} loops analysed, {} known ones met again, {} not proven{}", title(*process), counts.proofs,
                  counts.repeats, counts.refusals,
                  counts.refusals > 0 ? "; the last " + process->analyst()->refusal() : "");
  }
  spdlog::debug("{} hand-overs, {} events", result_.hand_overs, engine_.events_executed());
  kill_all();
  sched_setaffinity(0, sizeof before, &before);
  return std::move(result_);
}

void Supervisor::Impl::start(std::size_t index) {
  const ProgramSpec& spec = (*programs_)[index];
  const HostSpec& host = hosts_[spec.host];
  --not_started_;
  LaunchRequest request;
  const std::string reason = inspect_program(spec.arguments.at(0), spec.working_directory, &request.path);
  const auto pid = static_cast<std::uint32_t>(kFirstPid + index);
  const std::string stream = fmt::format("program/{}", index);
  if (!reason.empty()) {
    result_.programs[index].exited = true;
    result_.programs[index].exit_code = 127;
    result_.findings.push_back(host.name + ": " + reason);
    return;
  }
  const std::string& name = spec.arguments[0];
  processes_.push_back(std::make_unique<Process>(index, pid, host, spec.host, name.substr(name.rfind('/') + 1),
                                                 Rng(options_.seed, stream + "/random")));
  Process& process = *processes_.back();
  protocol::RegionHeader& header = process.region().header();
  header.virtual_pid = pid;
  header.parent_virtual_pid = 1;
  header.thread_count = 1;
  header.epoch_ns = options_.epoch_ns;
  header.timestamp_counter_hz = host.timestamp_counter_hz;
  header.costs = host.costs;
  header.own_effect_ps = to_ps(horizon_.own_effect(spec.host));
  process.region().slot(0).virtual_tid = pid;
  process.region().slot(0).clock_ps = to_ps(engine_.now());
  process.install_at(1, std::make_shared<OutputFile>(1));
  process.install_at(2, std::make_shared<OutputFile>(2));

  request.arguments = spec.arguments;
  request.environment = {{"PATH", kProgramPath}, {"HOME", "/"}, {"LANG", "C.UTF-8"}, {"TERM", "dumb"}};
  for (const auto& [key, value] : spec.environment) request.environment[key] = value;
  request.working_directory = spec.working_directory;
  request.shim_directory = options_.shim_directory;
  request.region_fd = process.region().fd();
  request.core = core_;
  Rng auxiliary(options_.seed, stream + "/at_random");
  const std::uint64_t words[2] = {auxiliary.next(), auxiliary.next()};
  std::memcpy(request.random_bytes.data(), words, sizeof words);

  const LaunchedProcess launched = launch(request);
  if (!launched.error.empty()) {
    process.alive = false;
    result_.programs[index].exited = true;
    result_.programs[index].exit_code = 127;
    result_.findings.push_back(host.name + ": " + launched.error);
    return;
  }
  process.set_native_pid(launched.pid);
  process.memory().set_write_listener([this, &process](std::uint64_t address, std::size_t length) {
    on_memory_written(process, address, length);
  });
  process.region().close_fd();
  token_.watch(launched.stdout_fd, [this, &process](std::string_view bytes) {
    output(process, 1, std::as_bytes(std::span(bytes)));
  });
  token_.watch(launched.stderr_fd, [this, &process](std::string_view bytes) {
    output(process, 2, std::as_bytes(std::span(bytes)));
  });
  result_.programs[index].started = true;
  spdlog::debug("{} started as process {}", title(process), launched.pid);
  tracer_.record(host.component, TraceEvent::kProgramStarted, pid);

  if (asks_for_privilege(request.path)) {
    warn(process, request.path + " has the set-user-id or set-group-id bit; it runs without that privilege");
  }

  process.set_owner(this);
  running_ = nullptr;
  make_thread(process);
  take_request(process);
}

Thread* Supervisor::Impl::make_thread(Process& process) {
  auto& threads = process.threads();
  std::uint32_t slot = 0;
  const auto taken = [&] {
    return std::any_of(threads.begin(), threads.end(), [&](const auto& thread) {
      return thread->state() != Thread::State::kDead && thread->slot() == slot;
    });
  };
  while (taken()) ++slot;
  if (slot >= protocol::kMaxThreads) return nullptr;
  std::erase_if(threads, [&](const auto& thread) { return thread->slot() == slot; });
  const std::uint32_t tid = threads.empty() ? process.pid() : next_tid_++;
  const HostSpec& host = process.host();
  threads.push_back(std::make_unique<Thread>(engine_, horizon_.add_thread(process.host_index()), process, slot, tid,
                                             Duration(host.costs.wake_up_ps),
                                             [](Thread& t) { t.process().owner<Impl>().on_thread(t); }));
  return threads.back().get();
}

void Supervisor::Impl::take_request(Process& process) {
  while (wait_for_message(process)) {
    // Copied once; what the program writes there later does not matter.
    const std::uint32_t index = process.region().header().message_slot;
    Thread* thread = nullptr;
    for (auto& candidate : process.threads()) {
      if (candidate->slot() == index && candidate->state() != Thread::State::kDead) thread = candidate.get();
    }
    if (thread == nullptr) {
      finish(Outcome::kStuck, title(process) + " overwrote the memory it shares with the simulator; it was stopped");
      return;
    }
    if (take_request_of(*thread)) return;
    protocol::ThreadSlot& slot = process.region().slot(index);
    slot.go.store(1, std::memory_order_release);
    wake_futex(slot.go);
  }
}

// False: there is none, and why has been dealt with.
bool Supervisor::Impl::wait_for_message(Process& process) {
  // Its first thread holds the token of a process that has just started.
  const bool first = running_ == nullptr || &running_->process() != &process;
  const auto tid = first ? process.native_pid() : static_cast<pid_t>(process.region().slot(running_->slot()).native_tid);
  switch (token_.wait(process.region(), process.native_pid(), tid, process.attached)) {
    case TokenWait::Result::kMessage:
      return true;
    case TokenWait::Result::kDied:
      if (running_ == nullptr) {
        end(process);
      } else if (take_slice(*running_)) {
        running_->call().request = protocol::Request::kNone;
        died_ = running_;
        running_->run_at(slice_end_);
      }
      return false;
    case TokenWait::Result::kInterrupted:
      finish(Outcome::kInterrupted, "the run was interrupted");
      return false;
    case TokenWait::Result::kStuck:
      finish(Outcome::kStuck, title(process) + " " + token_.stuck_doing() + why_not_parked(process));
      return false;
  }
  return false;
}

std::string Supervisor::Impl::why_not_parked(Process& process) {
  if (process.analyst() == nullptr || process.analyst()->refusal().empty()) return "";
  return " (its loop could not be proven to wait for the outside: it " + process.analyst()->refusal() + ")";
}

// False: a poke that led to nothing, the thread goes on as if it had never been sent.
bool Supervisor::Impl::take_request_of(Thread& thread) {
  Process& process = thread.process();
  const protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  if (slot.request == protocol::Request::kPoke) return take_poke(thread);
  if (!take_slice(thread)) return true;
  PendingCall& call = thread.call();
  call.request = slot.request;
  call.number = slot.number;
  for (int i = 0; i < 6; ++i) call.arguments[i] = slot.arguments[i];

  Duration cost = Duration::zero();
  switch (call.request) {
    case protocol::Request::kSpend:
    case protocol::Request::kPoll:
    case protocol::Request::kDoorbell: {
      constexpr std::int64_t kLongest = 1'000'000'000'000;  // one second: far beyond any modelled cost
      cost = Duration(std::clamp<std::int64_t>(call.arguments[0], 0, kLongest));
      break;
    }
    case protocol::Request::kAttach:
    case protocol::Request::kFault:
      break;
    default:
      cost = kernel_.cost(thread);
  }
  thread.run_at(slice_end_ + cost);
  check_watched(process);
  return true;
}

bool Supervisor::Impl::take_poke(Thread& thread) {
  Process& process = thread.process();
  const protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  auto parked = analyst_of(process).spin(static_cast<std::uint64_t>(slot.arguments[0]),
                                         static_cast<std::uint64_t>(slot.arguments[1]));
  if (!parked) return false;
  if (!take_slice(thread)) return true;
  thread.call().request = protocol::Request::kPoke;
  parked->since = slice_end_;
  thread.park(std::move(*parked));
  if (thread.has_signal()) thread.unpark();
  check_watched(process);
  return true;
}

LoopAnalyst& Supervisor::Impl::analyst_of(Process& process) {
  if (process.analyst() == nullptr) process.analyst() = std::make_unique<LoopAnalyst>(process);
  return *process.analyst();
}

// A thread of this host has run: threads that wait for memory to change may share it.
void Supervisor::Impl::check_watched(Process& ran) {
  for (auto& process : processes_) {
    if (!process->alive || process->host_index() != ran.host_index()) continue;
    for (auto& thread : process->threads()) {
      if (thread->parked() != nullptr && watched_bytes_changed(*thread)) thread->unpark();
    }
  }
}

bool Supervisor::Impl::watched_bytes_changed(Thread& thread) {
  for (const spin::ByteRun& run : thread.parked()->watched) {
    std::vector<std::byte> now(run.bytes.size());
    thread.process().memory().read(run.address, now);
    if (std::memcmp(now.data(), run.bytes.data(), now.size()) != 0) return true;
  }
  return false;
}

void Supervisor::Impl::on_memory_written(Process& process, std::uint64_t address, std::size_t length) {
  for (auto& thread : process.threads()) {
    if (thread->parked() == nullptr) continue;
    for (const spin::ByteRun& run : thread->parked()->watched) {
      if (run.address >= address + length || address >= run.address + run.bytes.size()) continue;
      if (watched_bytes_changed(*thread)) thread->unpark();
      break;
    }
  }
}

// Nobody else of the host can run before something outside happens.
bool Supervisor::Impl::alone_on_host(const Thread& thread, std::size_t host) const {
  for (const auto& process : processes_) {
    if (!process->alive || process->host_index() != host) continue;
    for (const auto& other : process->threads()) {
      if (other.get() != &thread && other->state() == Thread::State::kPending) return false;
    }
  }
  return true;
}

bool Supervisor::Impl::someone_parked(std::size_t host) const {
  for (const auto& process : processes_) {
    if (!process->alive || process->host_index() != host) continue;
    for (const auto& thread : process->threads()) {
      if (thread->parked() != nullptr) return true;
    }
  }
  return false;
}

// The look is due. When it finds nothing and the program will only look again, the turns in between are skipped.
bool Supervisor::Impl::park_poll(Thread& thread) {
  Process& process = thread.process();
  if (options_.mode != Mode::kSlices || thread.has_signal() || !alone_on_host(thread, process.host_index())) return false;
  const PendingCall& call = thread.call();
  const auto offset = static_cast<std::uint64_t>(call.arguments[3]);
  if (call.arguments[0] <= 0 || offset % alignof(protocol::Cqe) != 0 ||
      offset > protocol::kArenaSize - sizeof(protocol::Cqe)) {
    return false;
  }
  auto* entry = reinterpret_cast<protocol::Cqe*>(process.region().arena().data() + offset);
  const std::uint32_t sequence = std::atomic_ref(entry->sequence).load(std::memory_order_acquire);
  if (sequence == static_cast<std::uint32_t>(call.arguments[4])) return false;
  auto parked =
      analyst_of(process).poll_loop(call, process.region().slot(thread.slot()).poll_registers, engine_.now());
  if (!parked) return false;
  thread.park(std::move(*parked));
  return true;
}

// What the thread did on its own: its clock has moved on, and its doorbells are to ring at their own times.
bool Supervisor::Impl::take_slice(Thread& thread) {
  Process& process = thread.process();
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  const Instant clock = instant_from_ps(slot.clock_ps);
  const std::uint32_t count = slot.doorbell_count;
  std::vector<protocol::QueuedDoorbell> doorbells;
  bool sound = clock >= engine_.now() && clock <= std::max(engine_.now(), granted_) &&
               count <= protocol::kMaxQueuedDoorbells;
  for (std::uint32_t i = 0; sound && i < count; ++i) {
    doorbells.push_back(slot.doorbells[i]);
    const std::int64_t earliest = i == 0 ? to_ps(engine_.now()) : doorbells[i - 1].time_ps;
    sound = doorbells[i].time_ps >= earliest && doorbells[i].time_ps <= to_ps(clock);
  }
  if (!sound) {
    finish(Outcome::kStuck, title(process) + " overwrote the memory it shares with the simulator; it was stopped");
    return false;
  }
  slot.doorbell_count = 0;
  slice_end_ = clock;
  thread.queue_doorbells(doorbells, [](Thread& ringing, const protocol::QueuedDoorbell& doorbell) {
    ringing.process().owner<Impl>().ring(ringing, doorbell.kind, doorbell.context, doorbell.number, doorbell.value);
  });
  return true;
}

void Supervisor::Impl::ring(Thread& thread, protocol::DoorbellKind kind, std::uint64_t context, std::uint32_t number,
                            std::uint64_t value) {
  auto& contexts = thread.process().contexts();
  if (context < 1 || context > contexts.size() || !contexts[context - 1]->open()) return;
  contexts[context - 1]->hca().ring_doorbell(contexts[context - 1]->handle(), kind, number, value);
}

void Supervisor::Impl::on_thread(Thread& thread) {
  Process& process = thread.process();
  if (died_ == &thread) {
    died_ = nullptr;
    end(process);
    return;
  }
  const PendingCall& call = thread.call();
  switch (call.request) {
    case protocol::Request::kPoll:
      if (!park_poll(thread)) resume(thread, {});
      return;
    case protocol::Request::kSpend:
    case protocol::Request::kPoke:
      resume(thread, {});
      return;
    case protocol::Request::kDoorbell:
      ring(thread, static_cast<protocol::DoorbellKind>(call.arguments[1]),
           static_cast<std::uint64_t>(call.arguments[2]), static_cast<std::uint32_t>(call.arguments[3]),
           static_cast<std::uint64_t>(call.arguments[4]));
      resume(thread, {});
      return;
    case protocol::Request::kCommand:
      resume(thread, kernel_.command(thread));
      return;
    case protocol::Request::kSystemCall:
      if (const Kernel::Outcome answer = kernel_.execute(thread)) resume(thread, *answer);
      return;
    case protocol::Request::kRefused:
      resume(thread, kernel_.refuse(thread));
      return;
    case protocol::Request::kAttach:
      process.attached = true;
      token_.drain();  // what the loader had to say comes before what the program says
      resume(thread, {});
      return;
    case protocol::Request::kFault:
      warn(process, fmt::format("died of signal {} ({}) at address {:#x}", call.arguments[0],
                                strsignal(static_cast<int>(call.arguments[0])), call.arguments[1]));
      resume(thread, {});
      return;
    case protocol::Request::kNone:
      break;
  }
  finish(Outcome::kStuck, title(process) + " overwrote the memory it shares with the simulator; it was stopped");
}

void Supervisor::Impl::resume(Thread& thread, const Answer& answer) {
  Process& process = thread.process();
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  slot.result = answer.result;
  slot.action = answer.action;
  slot.action_arguments[0] = answer.arguments[0];
  slot.action_arguments[1] = answer.arguments[1];
  slot.clock_ps = to_ps(engine_.now());
  slot.raise_signal = static_cast<std::uint32_t>(thread.take_signal());
  slot.doorbell_count = 0;
  granted_ = engine_.now();
  if (options_.mode == Mode::kSlices && !someone_parked(process.host_index())) {
    granted_ = std::min(horizon_.of(process.host_index()), options_.limits.virtual_end);
  }
  slot.horizon_ps = granted_ > engine_.now() ? to_ps(granted_) : 0;
  ++result_.hand_overs;
  running_ = &thread;
  slot.go.store(1, std::memory_order_release);
  wake_futex(slot.go);
  const bool ends = thread.call().request == protocol::Request::kSystemCall && thread.call().number == SYS_exit &&
                    std::count_if(process.threads().begin(), process.threads().end(), [](const auto& other) {
                      return other->state() != Thread::State::kDead;
                    }) > 1;
  if (ends) {
    end_thread(thread);
  } else {
    take_request(process);
  }
}

// The thread is on its last instructions: nobody else runs before the Linux kernel has forgotten it.
void Supervisor::Impl::end_thread(Thread& thread) {
  Process& process = thread.process();
  const auto native_tid = static_cast<pid_t>(process.region().slot(thread.slot()).native_tid);
  constexpr int kTries = 100'000;
  for (int i = 0; i < kTries && syscall(SYS_tgkill, process.native_pid(), native_tid, 0) == 0; ++i) {
    i < 1000 ? sched_yield() : usleep(100);
  }
  thread.die();
  kernel_.thread_ended(thread);
}

void Supervisor::Impl::end(Process& process) {
  token_.drain();
  reap(process);
  ProgramResult& result = result_.programs[process.program()];
  tracer_.record(process.host().component, TraceEvent::kProgramExited, process.pid(),
                 static_cast<std::uint64_t>(result.exit_code), static_cast<std::uint64_t>(result.signal));
}

void Supervisor::Impl::reap(Process& process) {
  if (!process.alive) return;
  process.alive = false;
  int status = 0;
  waitpid(process.native_pid(), &status, 0);
  ProgramResult& result = result_.programs[process.program()];
  result.exited = !finished_;
  result.ended = engine_.now();
  // How it ended is its own doing only when we did not end it.
  if (result.exited && WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (result.exited && WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  for (auto& thread : process.threads()) thread->die();
  kernel_.release(process);
}

void Supervisor::Impl::kill_all() {
  for (auto& process : processes_) {
    if (!process->alive) continue;
    finished_ = true;
    kill(process->native_pid(), SIGKILL);
    reap(*process);
  }
}

void Supervisor::Impl::output(Process& process, int fd, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  tracer_.record(process.host().component, TraceEvent::kProgramOutput, process.pid(), static_cast<std::uint64_t>(fd),
                 bytes.size(), 0, bytes);
  listener_->on_output(process.program(), fd, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void Supervisor::Impl::warn(Process& process, const std::string& text) {
  if (!process.first_warning(text)) return;
  spdlog::warn("{}: {}", title(process), text);
  result_.warnings.push_back(title(process) + ": " + text);
}

void Supervisor::Impl::report_deadlock() {
  finished_ = true;
  result_.outcome = Outcome::kDeadlock;
  for (const auto& process : processes_) {
    if (!process->alive) continue;
    for (const auto& thread : process->threads()) {
      if (const Parked* parked = thread->parked()) {
        const std::string what =
            parked->kind == Parked::Kind::kPoll
                ? fmt::format("polls completion queue {}, which nothing can fill any more,", parked->cq_number)
                : fmt::format("spins on memory at {:#x}, which nothing can change any more,",
                              parked->watched.empty() ? 0 : parked->watched.front().address);
        result_.findings.push_back(
            fmt::format("{}, thread {} {} since {}", title(*process), thread->tid(), what, seconds(parked->since)));
        continue;
      }
      if (thread->state() != Thread::State::kBlocked) continue;
      result_.findings.push_back(fmt::format("{}, thread {} waits in {} since {}", title(*process), thread->tid(),
                                             thread->waits_for(), seconds(thread->blocked_since())));
    }
  }
}

Supervisor::Supervisor(Engine& engine, Tracer& tracer, Choices& choices, const ComponentTable& components,
                       std::vector<HostSpec> hosts, const ManagementNetworkSpec& network,
                       const SupervisorOptions& options)
    : impl_(std::make_unique<Impl>(engine, tracer, choices, components, std::move(hosts), network, options)) {}

Supervisor::~Supervisor() = default;

std::string Supervisor::reject_reason(const ProgramSpec& program, std::string* resolved_path) {
  if (program.arguments.empty()) return "the command is empty";
  return inspect_program(program.arguments[0], program.working_directory, resolved_path);
}

RunResult Supervisor::run(const std::vector<ProgramSpec>& programs, OutputListener& output) {
  return impl_->run(programs, output);
}

}  // namespace verbatim::supervisor

#include "sim/supervisor/supervisor.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "sim/supervisor/machine/child_status.h"
#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/machine/launcher.h"
#include "sim/supervisor/supervisor_impl.h"
#include "sim/supervisor/supervisor_terminal.h"
#include "verbs_shim/protocol/repeated_calls.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::supervisor {

namespace {

// Pids depend on the seed, because programs seed their random numbers with pid and time. Programs
// of neighbouring seeds share no pid as long as they have at most 61 programs; 61 and the range
// have no common divisor.
constexpr std::uint32_t kFirstPid = 1000, kPidRange = 30'000, kPidStep = 61;

std::uint32_t first_pid(std::uint64_t seed) {
  return kFirstPid + static_cast<std::uint32_t>((seed - 1) % kPidRange) * kPidStep % kPidRange;
}

std::uint64_t chosen_heap_size(bool may_be_large) {
  void* const reserved = may_be_large ? mmap(nullptr, protocol::kShimHeapSize, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                      : MAP_FAILED;
  if (reserved == MAP_FAILED) return protocol::kSmallShimHeapSize;
  munmap(reserved, protocol::kShimHeapSize);
  return protocol::kShimHeapSize;
}

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

// Native working directory for a program; empty: the caller's.
std::string native_working_folder(const ProgramSpec& program, const HostPaths& paths) {
  std::error_code error;
  const std::string wanted = program.working_directory.empty() ? "." : program.working_directory;
  const std::string real = std::filesystem::canonical(wanted, error);
  // A view is entered by the first path that leads into it, for the same start with and without views.
  const bool is_viewed = !error && paths.views() != nullptr && !paths.views()->copy_of(paths.native(real)).empty();
  const std::string native = error ? wanted : is_viewed ? paths.native(real) : paths.native_in_use(real);
  return native == real ? program.working_directory : native;
}

// Clock that file systems use for time stamps.
std::int64_t machine_time_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// File mapped at `address` in the simulator's own process. Programs mostly use the same loader and libc.
std::string object_at(void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

}  // namespace

// The constructor and destructor are here because the types of all members are complete here.
Supervisor::Impl::Impl(Engine& engine, Tracer& tracer, Choices& choices, const ComponentTable& components,
                       std::vector<HostSpec> hosts, const ManagementNetworkSpec& network, const SupervisorOptions& options)
    : engine_(engine),
      tracer_(tracer),
      choices_(choices),
      hosts_(std::move(hosts)),
      options_(options),
      horizon_(engine, hosts_, network.latency, static_cast<std::uint32_t>(components.size())),
      token_(options_.limits.stuck_after_ms, options_.poke_period_us),
      kernel_(
          engine, tracer, hosts_, network, options_, *this,
          [this](Process& process, int fd, std::span<const std::byte> bytes) {
            output(process, fd, bytes);
          },
          [this](Process& process, const std::string& text, bool weakens) { warn(process, text, weakens); },
          [this](Process& process) { return make_thread(process); }) {
  if (options_.run_after_run != nullptr) kernel_.use_passage(options_.run_after_run->passage());
}

Supervisor::Impl::~Impl() { kill_all(); }

RunResult Supervisor::Impl::run(const std::vector<ProgramSpec>& programs, OutputListener& listener) {
  machine_began_ns_ = machine_time_ns();
  programs_ = &programs;
  listener_ = &listener;
  result_.programs.resize(programs.size());
  not_started_ = programs.size();
  living_.assign(programs.size(), 0);
  on_host_.resize(hosts_.size());
  ran_until_.resize(hosts_.size());
  memory_epochs_.resize(hosts_.size());
  starts_on_host_.resize(hosts_.size());
  foreground_left_ = static_cast<std::size_t>(
      std::count_if(programs.begin(), programs.end(), [](const ProgramSpec& program) { return !program.background; }));
  first_pid_ = first_pid(options_.seed);
  next_tid_ = first_pid_ + static_cast<std::uint32_t>(programs.size());

  // Raises the soft limits to the hard ones: the region shared with a program is a large sparse file.
  for (const auto resource : {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit;
    if (getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
  }
  heap_size_ = chosen_heap_size(options_.machine.overcommit);
  kernel_.copy_descriptors(options_.machine.descriptor_copies);
  core_ = chosen_core(options_.core);
  // Enlarges the descriptor table before a second thread exists: with two threads the kernel takes
  // milliseconds for it.
  if (const int high = fcntl(0, F_DUPFD_CLOEXEC, own_descriptors().at_first + protocol::kOwnDescriptors); high >= 0) close(high);
  if (&code_files_ == &own_code_files_) own_code_files_.use_table(code::CodeTable(options_.shim_directory + "/code.table"));
  code_files_.search_ahead({object_at(reinterpret_cast<void*>(getauxval(AT_BASE))), object_at(reinterpret_cast<void*>(&::read))},
                           core_);
  cpu_set_t before, one;
  sched_getaffinity(0, sizeof before, &before);
  CPU_ZERO(&one);
  CPU_SET(core_, &one);
  sched_setaffinity(0, sizeof one, &one);
  ask_for_short_slice();
  token_.use(second_core_.emplace(options_.second_core, core_, before));

  make_folders();
  if (options_.terminal_user != nullptr) terminals_ = std::make_unique<Terminals>(*this, *options_.terminal_user);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    starts_.push_back(std::make_unique<Start>(*this, i, hosts_[programs[i].host].component));
    starts_on_host_[programs[i].host].push_back(starts_.back().get());
    starts_.back()->timer.schedule_at(programs[i].start);
    if (programs[i].on_terminal && terminals_)
      terminals_->add(programs[i].host, programs[i].on_terminal->rows, programs[i].on_terminal->columns);
    if (programs[i].kill != kNever) starts_.back()->kill.schedule_at(programs[i].kill);
  }

  const auto goes_on = [this] {
    return not_started_ > 0 || any_alive() || (options_.has_other_work && options_.has_other_work());
  };
  while (!finished_ && goes_on()) {
    if (terminals_ && terminals_->attend()) continue;
    if (engine_.empty()) {
      if (!ended_from_outside()) report_deadlock();
    } else if (const Instant end = virtual_end(); engine_.next_event_time() > end) {
      // The run ends at the limit, not at the last event: parked threads have been waiting until then.
      engine_.run_until(end);
      finished_ = true;
      result_.is_fabric_deadlock = end < options_.limits.virtual_end;
      result_.outcome = result_.is_fabric_deadlock ? Outcome::kDeadlock : Outcome::kTimeLimit;
      list_waits(false);
      count_parked_until(end);
    } else {
      engine_.step();
      if (someone_ended_) retire_ended();
      if (token_.interrupted() && !finished_) interrupt();
    }
  }
  for (const auto& process : processes_) log_loops(*process);
  log_requests();
  for (const auto& process : processes_) {
    if (!process->alive) continue;
    for (const auto& thread : process->threads()) thread->report_wait();
  }
  kill_all();
  if (options_.terminal_user != nullptr) options_.terminal_user->on_run_end();
  const auto add_rest = [this](std::size_t program, const std::string& sentence) {
    result_.warnings.push_back(title_of_program(program) + ": " + sentence);
    spdlog::warn("{}", result_.warnings.back());
  };
  for (const auto& [program, log] : warning_logs_) {
    for (const std::string& sentence : log.rest()) add_rest(program, sentence);
  }
  for (const auto& [program, sentence] : kernel_.checks().rest()) add_rest(program, sentence);
  result_.waiting = waiting_times_.all();
  result_.code_files = code_files_.paths();
  result_.queues = kernel_.checks().figures();
  for (const auto& [name, folder, made_first, to_make] : folder_->hosts()) {
    if (!options_.on_files) break;
    if (access(folder.c_str(), F_OK) != 0) continue;  // no program has used it
    const auto host = std::find_if(hosts_.begin(), hosts_.end(), [&name = name](const HostSpec& h) { return h.name == name; });
    for (std::string& failure : options_.on_files(host->component, folder, made_first))
      result_.warnings.push_back(std::move(failure));
  }
  if (!options_.keep_files_in.empty()) {
    KeptFiles kept = folder_->keep_in(options_.keep_files_in, [this] { return token_.interrupted(); });
    result_.not_kept = std::move(kept.failures);
    if (!kept.left_out.empty()) result_.warnings.push_back(std::move(kept.left_out));
    if (kept.is_interrupted) result_.outcome = Outcome::kInterrupted;
  }
  if (folder_->views() != nullptr) result_.working_files = folder_->views()->snapshot();
  options_.run_after_run != nullptr ? folder_->clear() : own_folder_.reset();
  result_.refused_files = kernel_.refused_files();
  sched_setaffinity(0, sizeof before, &before);
  return std::move(result_);
}

void Supervisor::Impl::log_requests() const {
  using protocol::Request;
  const auto asked = [this](Request kind) { return asked_[static_cast<std::uint32_t>(kind)]; };
  spdlog::debug("{} hand-overs ({} for time to pass, {} polls, {} doorbells, {} commands, {} system calls; {} answered before their "
                "time), {} events",
                result_.hand_overs, asked(Request::kSpend), asked(Request::kPoll), asked(Request::kDoorbell),
                asked(Request::kCommand), asked(Request::kSystemCall), answered_ahead_, engine_.events_executed());
  if (second_core_) spdlog::debug("about {} hand-overs with a second processor", second_core_->hand_overs_on_it());
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_count;
  for (const auto& [number, count] : calls_asked_) by_count.emplace_back(count, number);
  std::ranges::sort(by_count, std::greater());
  std::string text;
  for (const auto& [count, number] : by_count) {
    const char* const name = protocol::system_call(number).name;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name != nullptr ? name : std::to_string(number));
  }
  if (!text.empty()) spdlog::debug("system calls: {}", text);
}

void Supervisor::Impl::log_loops(Process& process) const {
  if (process.analyst() == nullptr) return;
  const auto& counts = process.analyst()->counts();
  spdlog::debug("{}: {} reads of clocks followed, {} loops analysed, {} known ones met again, {} asked by their own jump, {} not "
                "proven{}",
                title(process), counts.clock_reads, counts.proofs, counts.repeats, counts.trapped, counts.refusals,
                counts.refusals > 0 ? "; the last " + process.analyst()->refusal() : "");
}

void Supervisor::Impl::retire_ended() {
  someone_ended_ = false;
  const auto first = std::stable_partition(processes_.begin(), processes_.end(),
                                           [](const auto& process) { return process->alive; });
  for (auto it = first; it != processes_.end(); ++it) {
    Process& process = **it;
    std::erase(on_host_[process.host_index()], &process);
    log_loops(process);
    if (running_ != nullptr && &running_->process() == &process) running_ = nullptr;
    if (dead_token_holder_ != nullptr && &dead_token_holder_->process() == &process) dead_token_holder_ = nullptr;
    Ended& ended = ended_on_[process.host_index()];
    ++ended.count;
    ended.highest_pid = std::max(ended.highest_pid, process.pid());
    process.retire();
    if (process.outlives_its_end) ended_.push_back(std::move(*it));
  }
  processes_.erase(first, processes_.end());
}

// Creates the folders of each host before its first program starts.
void Supervisor::Impl::make_folders() {
  if (options_.run_after_run != nullptr) {
    options_.run_after_run->begin_run();
    folder_ = &options_.run_after_run->folder();
  } else {
    own_folder_ = std::make_unique<RunFolder>(options_.shim_directory + "/keeper");
    folder_ = own_folder_.get();
  }
  options_.views_working_folders ? folder_->view_working_folders(*programs_, options_.working_snapshot)
                                 : folder_->share_working_folders(*programs_);
  std::map<std::size_t, std::vector<const ProgramSpec*>> by_host;
  for (const ProgramSpec& program : *programs_) by_host[program.host].push_back(&program);
  for (const auto& [host, of_host] : by_host) {
    folder_->add_host(hosts_[host], of_host, options_.epoch_ns / 1'000'000'000, kernel_.paths_of_host(host));
    show_remote_shell(host);
    if (kernel_.paths_of_host(host).fit()) continue;
    return finish(Outcome::kNotStarted,
                  fmt::format("{}: its programs name more than {} files and folders in their arguments and environment, or longer "
                              "names than {} bytes; name a folder above them",
                              hosts_[host].name, protocol::kMostPathRows, protocol::kPathText));
  }
}

void Supervisor::Impl::start(std::size_t index) {
  const ProgramSpec& spec = (*programs_)[index];
  --not_started_;
  if (spec.background && foreground_left_ == 0) return;
  Process* const process =
      launch_program(spec, index, static_cast<std::uint32_t>(first_pid_ + index), fmt::format("program/{}", index));
  if (process != nullptr) {
    result_.programs[index].started = true;
  } else {
    result_.programs[index].exited = true;
    result_.programs[index].exit_code = 127;
  }
}

Process* Supervisor::Impl::launch_program(const ProgramSpec& spec, std::size_t index, std::uint32_t pid,
                                          const std::string& stream) {
  const HostSpec& host = hosts_[spec.host];
  const auto give_up = [&](Outcome outcome, const std::string& why) {
    finish(outcome, host.name + ": " + why);
    return nullptr;
  };
  std::optional<Kernel::OwnFileWork> own_work(std::in_place, kernel_, spec.host);
  LaunchRequest request;
  const HostPaths& paths = kernel_.paths_of_host(spec.host);
  const std::string& named = spec.arguments.at(0);
  const bool is_path = named.starts_with('/');
  const std::string reason = inspect_program(is_path ? paths.native(named) : named, spec.working_directory, &request.path);
  if (!reason.empty()) return give_up(Outcome::kNotStarted, reason);
  // the host's substitute for the machine's file: ssh
  if (!is_path) request.path = paths.native(request.path);
  std::unique_ptr<ProcessRegion> region;
  try {
    region = std::make_unique<ProcessRegion>();
  } catch (const std::system_error& error) {
    return give_up(Outcome::kNotStarted,
                   fmt::format("{}; raise the limits on address space (ulimit -Hv) and open files (ulimit -Hn)", error.what()));
  }
  Process& process = add_process(std::make_unique<Process>(index, pid, host, spec.host, named.substr(named.rfind('/') + 1),
                                                           Rng(options_.seed, stream + "/random"), std::move(region)));
  fill_header(process.region(), pid, Family::kInit, spec.host);
  process.region().slot(0).virtual_tid = pid;
  process.region().slot(0).clock_ps = to_ps(engine_.now());
  process.install_at(1, std::make_shared<OutputFile>(1));
  process.install_at(2, std::make_shared<OutputFile>(2));
  if (spec.on_terminal && terminals_) terminals_->seat(spec.on_terminal->number, process);
  kernel_.paths_of(process).store(process.region(), "");

  request.arguments = spec.arguments;
  std::map<std::string, std::string> environment = {
      {"PATH", kProgramPath}, {"HOME", protocol::kHome}, {"LANG", "C.UTF-8"}, {"TERM", "dumb"}};
  for (const auto& [key, value] : spec.environment) environment[key] = value;
  for (const auto& [key, value] : environment) request.environment.push_back(key + "=" + value);
  request.working_directory = native_working_folder(spec, kernel_.paths_of(process));
  request.shim_directory = options_.shim_directory;
  request.region_fd = process.region().fd();
  request.passage_fd = kernel_.passage().far_end();
  request.core = core_;
  auto patches = std::make_unique<code::CodePatches>(options_.machine.jumps);
  equip(request, spec.host, stream + "/at_random", *patches);
  process.set_environment(request.environment);

  LaunchedProcess launched = start_process(request);
  if (!launched.error.empty()) {
    process.alive = false;
    count_end(process);
    return give_up(launched.is_refused_by_machine ? Outcome::kMachine : Outcome::kNotStarted, launched.error);
  }
  process.set_native_pid(launched.pid);
  process.outlives_its_end = true;
  process.limits = ResourceLimits(host.open_files);
  if (host.open_files < request.own_descriptors) process.enforce_limits();
  spdlog::debug("{} started as process {}", title(process), launched.pid);
  note_refused_heap(process);
  if (asks_for_privilege(request.path)) {
    warn(process, request.path + " has the set-user-id or set-group-id bit; it runs without that privilege");
  }

  own_work.reset();
  begin(process, std::move(launched), std::move(patches));
  return &process;
}

void Supervisor::Impl::adopt(Process& process) {
  process.memory().use(page_cache_, read_ahead_, write_behind_, memory_epochs_[process.host_index()]);
  process.memory().use(engine_);
  if (!options_.machine.memory_calls) process.memory().do_without_calls();
  process.memory().set_write_listener(
      [this, &process](const ProcessMemory::Written& written) { on_memory_written(process, written); });
  process.memory().set_access_listener([this, &process] {
    // No adapter accesses the memory of a host before the time that its programs have reached.
    CHECK(is_taking_request_ || engine_.now() >= ran_until_[process.host_index()]);
    show_growth(process);
  });
  process.set_owner(this);
  process.set_paths(kernel_.paths_of(process));
  process.region().header().watches_files = kernel_.watches_files(process.host_index()) ? 1 : 0;
}

Thread* Supervisor::Impl::make_thread(Process& process, std::uint32_t slot) {
  auto& threads = process.threads();
  std::vector<bool> taken(threads.size() + 1);  // by slot - `slot`; at least one entry stays free
  for (const auto& thread : threads) {
    const std::uint32_t at = thread->slot() - slot;
    if (thread->state() != Thread::State::kDead && thread->slot() >= slot && at < taken.size()) taken[at] = true;
  }
  slot += static_cast<std::uint32_t>(std::ranges::find(taken, false) - taken.begin());
  if (slot >= protocol::kMaxThreads) return nullptr;
  if (running_ != nullptr && &running_->process() == &process && running_->slot() == slot) running_ = nullptr;  // it has ended
  std::erase_if(threads, [&](const auto& thread) { return thread->slot() == slot; });
  const std::uint32_t tid = threads.empty() ? process.pid() : next_tid_++;
  const HostSpec& host = process.host();
  threads.push_back(std::make_unique<Thread>(engine_, choices_, horizon_.add_thread(process.host_index()), process,
                                             slot, tid, host.costs,
                                             [](Thread& t) { t.process().owner<Impl>().on_thread(t); }));
  if (options_.on_wait) threads.back()->report_waits_to(options_.on_wait);
  return threads.back().get();
}

namespace {

// A process's first thread stays a zombie while other threads run.
bool is_zombie(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text.compare(name_end + 2, 1, "Z") == 0;
}

}  // namespace

// The thread is at its last instructions: no other thread runs before the Linux kernel has removed it.
void Supervisor::Impl::end_thread(Thread& thread) {
  Process& process = thread.process();
  const pid_t native_tid = thread.native_tid();
  constexpr int kTries = 100'000;
  for (int i = 0; i < kTries && syscall(SYS_tgkill, process.native_pid(), native_tid, 0) == 0; ++i) {
    if (native_tid == process.native_pid() && is_zombie(native_tid)) break;
    i < 1000 ? sched_yield() : usleep(100);
  }
  thread.die();
  // Memory is accessed through a live thread's id.
  if (process.memory().reached_through() == native_tid) {
    for (const auto& other : process.threads()) {
      if (other->state() == Thread::State::kDead) continue;
      process.memory().reach_through(other->native_tid());
      break;
    }
  }
  kernel_.thread_ended(thread);
}

void Supervisor::Impl::end(Process& process) {
  reap(process);
  const int status = process.exit_status;
  tracer_.record(process.host().component, TraceEvent::kProgramExited, process.pid(),
                 static_cast<std::uint64_t>(WIFEXITED(status) ? WEXITSTATUS(status) : 0),
                 static_cast<std::uint64_t>(WIFSIGNALED(status) ? WTERMSIG(status) : 0));
  if (!program_alive(process.program())) {
    listener_->on_exit(process.program());
    starts_[process.program()]->kill.cancel();
  }
  if (!finished_) end_family(process, status);
  if (!finished_ && terminals_) {
    kernel_.end_session(process);
    finished_ = terminals_->note_end(process);  // the end of the last session ends all programs
  }
  end_background();
}

void Supervisor::Impl::reap(Process& process) {
  if (!process.alive) return;
  process.alive = false;
  count_end(process);
  someone_ended_ = true;
  const int status = await_status(process.native_pid());
  process.exit_status = status;
  check_end_was_simulated(process, status);
  for (auto& thread : process.threads()) thread->die();
  kernel_.release(process);
  if (!finished_) kernel_.deliver_file_events(process.host_index());  // of files that Linux closed at its end
  if (!process.family().first_of_program) return;
  ProgramResult& result = result_.programs[process.program()];
  result.exited = !finished_;
  result.ended = engine_.now();
  // An exit status exists only if the simulator did not end the process.
  if (result.exited && WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (result.exited && WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
}

void Supervisor::Impl::kill_all() {
  write_behind_.flush();
  for (auto& process : processes_) {
    if (!process->alive) continue;
    finished_ = true;
    kill(process->native_pid(), SIGKILL);
    reap(*process);
  }
}

void Supervisor::Impl::output(Process& process, int fd, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  tracer_.record(process.host().component, TraceEvent::kProgramOutput, process.pid(),
                 static_cast<std::uint64_t>(fd), bytes.size(), 0, bytes);
  listener_->on_output(process.program(), fd, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void Supervisor::Impl::warn(Process& process, const std::string& text, bool weakens) {
  if (early_call_thread_ != nullptr) {
    early_call_thread_->emit_at(engine_.now(), [this, &process, text, weakens] { warn(process, text, weakens); });
    return;
  }
  if (weakens) result_.exact = false;
  WarningLog& log = warning_logs_[process.program()];
  // has_room is first, so that the number of texts that a process remembers is bounded too.
  if (!log.has_room(text, weakens) || !process.first_warning(text)) return;
  log.add(text);
  spdlog::warn("{}: {}", title(process), text);
  result_.warnings.push_back(title(process) + ": " + text);
  if (!weakens) return;
  result_.weak.push_back(result_.warnings.back());
}

Instant Supervisor::Impl::virtual_end() const {
  const Instant* const deadlock = options_.limits.fabric_deadlock;
  if (deadlock == nullptr || *deadlock == kNever) return options_.limits.virtual_end;
  return std::min(options_.limits.virtual_end, *deadlock + horizon_.furthest_lead());
}

void Supervisor::Impl::report_deadlock() {
  finished_ = true;
  result_.outcome = Outcome::kDeadlock;
  list_waits(true);
}

// The engine's clock is at the last event before `end`; a parked thread stays parked until `end`.
void Supervisor::Impl::count_parked_until(Instant end) {
  for (const auto& process : processes_) {
    for (const auto& thread : process->threads()) {
      if (thread->parked() != nullptr) waiting_time(*thread).parked += end - engine_.now();
    }
  }
}

Supervisor::Supervisor(Engine& engine, Tracer& tracer, Choices& choices, const ComponentTable& components,
                       std::vector<HostSpec> hosts, const ManagementNetworkSpec& network,
                       const SupervisorOptions& options)
    : impl_(std::make_unique<Impl>(engine, tracer, choices, components, std::move(hosts), network, options)) {
}

Supervisor::~Supervisor() = default;

std::string Supervisor::reject_reason(const ProgramSpec& program, std::string* resolved_path) {
  if (program.arguments.empty()) return "the command is empty";
  return inspect_program(program.arguments[0], program.working_directory, resolved_path);
}

void Supervisor::use_failing_calls(FailingCalls& calls) { impl_->use_failing_calls(calls); }

void Supervisor::tell_calls_to(std::function<void(const ProgramCall&)> listener) { impl_->tell_calls_to(std::move(listener)); }

RunResult Supervisor::run(const std::vector<ProgramSpec>& programs, OutputListener& output) {
  return impl_->run(programs, output);
}

}  // namespace verbatim::supervisor

// fork, exec, stop and continuation, and the effect of a process's end on its parent and children. exec
// replaces the native process: the new program is launched like a first program, for the same memory layout
// in every run, and the old native process is killed.
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "sim/supervisor/machine/child_status.h"
#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/machine/launcher.h"
#include "sim/supervisor/tasks/signal_file.h"
#include "sim/supervisor/tasks/signals.h"
#include "sim/supervisor/supervisor_impl.h"

namespace verbatim::supervisor {

namespace {

// bytes of one string of argv or envp: MAX_ARG_STRLEN of Linux
constexpr std::size_t kLongestString = 128 * 1024;
constexpr std::size_t kMostStrings = 2 << 20;       // bytes of all strings

// Value of a field of /proc/PID/status or fdinfo; empty if there is none.
std::string field_of(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t start = line.find_first_not_of(" \t:", name.size());
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::uint64_t number_of(const std::string& text, int base) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

// Reads the strings of a null-terminated array of pointers. Returns 0, EFAULT or E2BIG.
int load_strings(ProcessMemory& memory, std::uint64_t array, std::vector<std::string>& strings, std::size_t& total) {
  if (array == 0) return 0;
  for (;; array += 8) {
    const auto address = memory.load<std::uint64_t>(array);
    if (!address) return EFAULT;
    if (*address == 0) return 0;
    auto text = memory.load_string(*address, kLongestString);
    if (!text) return EFAULT;
    total += text->size() + 9;
    if (total > kMostStrings) return E2BIG;
    strings.push_back(std::move(*text));
  }
}

// Errno with which execve(2) would refuse the file; 0: none.
int executable_error(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode) || access(path.c_str(), X_OK) != 0) return EACCES;
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  const std::string_view start(magic, sizeof magic);
  return start.starts_with("#!") || start == ELFMAG ? 0 : ENOEXEC;
}

// Interpreter and its one argument (the rest of the line) from a script's #! line; empty for other files.
std::vector<std::string> interpreter_of(const std::string& path) {
  std::string line;
  std::ifstream file(path, std::ios::binary);
  if (!std::getline(file, line) || !line.starts_with("#!")) return {};
  const std::size_t start = line.find_first_not_of(" \t", 2);
  if (start == std::string::npos) return {};
  const std::size_t end = std::min(line.find_first_of(" \t", start), line.size());
  std::vector<std::string> words = {line.substr(start, end - start)};
  const std::size_t rest = line.find_first_not_of(" \t", end);
  const std::size_t last = line.find_last_not_of(" \t");
  if (rest != std::string::npos) words.push_back(line.substr(rest, last - rest + 1));
  return words;
}

// In a user namespace that does not map all ids, the kernel reports one overflow id in place of every
// unmapped id, root's included.
std::uint32_t unnamed(const std::string& kind) {
  std::uint64_t inside = 1, outside = 1, count = 0;
  std::ifstream("/proc/self/" + kind + "_map") >> inside >> outside >> count;
  constexpr std::uint64_t kAll = 0xffff'ffff;
  if (inside == 0 && outside == 0 && count == kAll) return 0;
  std::uint32_t number = 0;
  std::ifstream("/proc/sys/kernel/overflow" + kind) >> number;
  return number;
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

struct Variables {
  std::vector<spin::MemoryRange> program;  // .data and .bss of the executable
  // Heap state of libc (.data) and the heap itself: copied together or not at all. libc's .bss, which holds
  // the heap's end, and per-thread data stay the parent's.
  std::vector<spin::MemoryRange> libraries, heap;
};
Variables variables_of(Process& process) {
  const std::string folder = fmt::format("/proc/{}", process.native_pid());
  std::error_code error;
  const std::string program = std::filesystem::read_symlink(folder + "/exe", error);
  Variables variables;
  std::uint64_t end_of_program = 0;
  std::ifstream maps(folder + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::uint64_t start = number_of(line, 16), end = number_of(line.substr(line.find('-') + 1), 16);
    const std::string_view flags = std::string_view(line).substr(line.find(' ') + 1, 4);
    const bool anonymous = line.find('/') == std::string::npos && line.find('[') == std::string::npos;
    const bool own = line.ends_with(" " + program) || (anonymous && start == end_of_program);  // .data, .bss
    if (own) end_of_program = end;
    if (flags != "rw-p") continue;
    const spin::MemoryRange range{start, static_cast<std::size_t>(end - start)};
    if (own) variables.program.push_back(range);
    if (line.ends_with("[heap]")) variables.heap.push_back(range);
    if (!own && last_part(line).starts_with("libc.so")) variables.libraries.push_back(range);
  }
  return variables;
}

// Copies the child's writes to program variables back to the parent. Nobody else has written to the parent's
// variables meanwhile, so a page that the child has of its own differs by the child's writes alone. If the
// child has grown the heap, heap and libc state are not copied.
void return_variables(Process& child, Process& parent) {
  constexpr std::uint64_t kPage = 4096, kPresent = 1ull << 63, kOfOneProcess = 1ull << 56;
  const int pages = open(fmt::format("/proc/{}/pagemap", child.native_pid()).c_str(), O_RDONLY | O_CLOEXEC);
  Variables variables = variables_of(child);
  std::vector<spin::MemoryRange>& ranges = variables.program;
  if (variables.heap == variables_of(parent).heap) {
    ranges.insert(ranges.end(), variables.libraries.begin(), variables.libraries.end());
    ranges.insert(ranges.end(), variables.heap.begin(), variables.heap.end());
  }
  for (const spin::MemoryRange& range : ranges) {
    std::vector<std::uint64_t> states(range.length / kPage, kOfOneProcess);
    // A page whose state cannot be read counts as written; the comparison of the bytes decides.
    if (pread(pages, states.data(), states.size() * 8, static_cast<off_t>(range.address / kPage * 8)) < 0)
      std::ranges::fill(states, kOfOneProcess);
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (states[i] == 0 || (states[i] & (kPresent | kOfOneProcess)) == kPresent) continue;
      const std::uint64_t at = range.address + i * kPage;
      std::array<std::byte, kPage> own, theirs;
      if (!child.memory().read(at, own) || !parent.memory().read(at, theirs)) continue;
      if (own != theirs) parent.memory().write(at, own);
    }
  }
  if (pages >= 0) close(pages);
}

}  // namespace

void Supervisor::Impl::fill_header(ProcessRegion& region, std::uint32_t pid, std::uint32_t parent, std::size_t host) {
  protocol::RegionHeader& header = region.header();
  header.magic = protocol::kMagic;
  header.version = protocol::kVersion;
  header.region_header_size = sizeof header;
  header.virtual_pid = pid;
  header.parent_virtual_pid = parent;
  header.thread_count = 1;
  header.epoch_ns = options_.epoch_ns;
  header.checks = requested_checks();
  header.late_accesses = options_.late_accesses && choices_.is_free();
  header.timestamp_counter_hz = hosts_[host].timestamp_counter_hz;
  header.costs = hosts_[host].costs;
  header.own_effect_ps = to_ps(horizon_.own_effect(host));
  header.random_seed = Rng(options_.seed, fmt::format("process/{}/instructions/{}", pid, header_number_++)).next();
  header.extended_control = code::extended_control(hosts_[host].instruction_set);
  header.traced_start = 1;
  // Replacing a system call instruction costs about as much as this many traps.
  constexpr std::uint32_t kTrapsOfRareCall = 16;
  header.traps_until_told = !options_.machine.jumps ? 0 : options_.machine.call_traps ? kTrapsOfRareCall : 1;
  header.shim_heap_size = heap_size_;
  header.own_descriptors = own_descriptors().at_first;
  header.own_descriptors_later = own_descriptors().later;
  header.descriptor_limit = hosts_[host].open_files;
  header.machine_began_ns = machine_began_ns_;
  header.machine_user = geteuid();
  header.machine_group = getegid();
  static const std::uint32_t unnamed_user = unnamed("uid"), unnamed_group = unnamed("gid");
  header.unnamed_user = unnamed_user;
  header.unnamed_group = unnamed_group;
}

void Supervisor::Impl::equip(LaunchRequest& request, std::size_t host, const std::string& random_stream,
                             code::CodePatches& patches) {
  processors_.resize(hosts_.size());
  auto& processor = processors_[host];
  if (processor.empty())
    processor = code::cpuid_table(hosts_[host].instruction_set, hosts_[host].timestamp_counter_hz);
  Rng random(options_.seed, random_stream);
  const std::uint64_t words[2] = {random.next(), random.next()};
  std::memcpy(request.trace.random_bytes.data(), words, sizeof words);
  request.trace.cpuid = processor;
  request.trace.extended_control = code::extended_control(hosts_[host].instruction_set);
  request.trace.stops_at_memory_maps = options_.machine.loader_breakpoints;
  request.trace.removes_vdso = options_.machine.removable_vdso;
  request.switches_randomisation_off = options_.machine.fixed_layout;
  request.ruleset_fd = ruleset_of(host);
  request.code_files = &code_files_;
  request.patches = &patches;
  adapt_to_sanitizers(request);
}

// The process has been launched and is at its loader's first instructions; its first thread sends
// the first request.
void Supervisor::Impl::begin(Process& process, LaunchedProcess launched,
                             std::unique_ptr<code::CodePatches> patches, const Scheduling& scheduling,
                             const Credentials& credentials) {
  // inotify events caused by its loader are the simulator's own file work
  const Kernel::OwnFileWork own_work(kernel_, process.host_index());
  adopt(process);
  process.set_patches(std::move(patches));
  process.region().close_fd();
  tracer_.record(process.host().component, TraceEvent::kProgramStarted, process.pid());
  for (const int fd : {1, 2}) output(process, fd, std::as_bytes(std::span(launched.early_output[fd - 1])));
  report_unpatched(process);
  note_other_layout(process);
  running_ = nullptr;
  Thread* const first = make_thread(process);
  first->set_native_tid(launched.pid);
  first->scheduling = scheduling;
  slice_start_ = engine_.now();
  first->credentials = credentials;
  first->publish_credentials();
  take_request(process);
  if (process.family().first_of_program) listener_->on_start(process.program(), process.native_pid());
}

std::optional<Answer> Supervisor::Impl::forked(Thread& thread) {
  Process& parent = thread.process();
  const auto& a = thread.call().arguments;
  // vfork: the child has released the parent, or a signal is pending, which waits for that
  if (thread.retried()) {
    thread.stop_waiting();
    for (const auto& child : processes_) {
      if (child->pid() == thread.copy_pid() && child->alive && child->family().holds_parent)
        return hold(thread, *child);
    }
    thread.finish_call();
    return Answer{thread.copy_pid()};
  }
  if (a[1] <= 0) {
    finish(Outcome::kMachine, title(parent) + " could not fork: the machine refused a new process (see ulimit -u and free memory)");
    return std::nullopt;
  }
  const auto native = static_cast<pid_t>(a[1]);
  const auto broken = [&] {
    kill_corrupt_process(parent);
    return std::nullopt;
  };
  const bool known = std::ranges::any_of(
      processes_, [&](const auto& other) { return other->alive && other->native_pid() == native; });
  if (known || thread.copy_pid() == 0 || a[0] != thread.copy_pid() ||
      number_of(field_of(fmt::format("/proc/{}/status", native), "PPid"), 10) !=
          static_cast<std::uint64_t>(getpid())) {
    return broken();
  }
  std::unique_ptr<ProcessRegion> region;
  try {
    region = std::make_unique<ProcessRegion>(fmt::format("/proc/{}/fd/{}", parent.native_pid(), a[2]));
  } catch (const std::system_error&) {
    end_child(native);
    finish(Outcome::kMachine, title(parent) + " could not fork: the machine gave the simulator no room for the copy (see ulimit -n and -v)");
    return std::nullopt;
  }
  region->close_fd();
  fill_header(*region, thread.copy_pid(), parent.pid(), parent.host_index());
  std::copy(std::begin(parent.region().header().dispositions),
            std::end(parent.region().header().dispositions), std::begin(region->header().dispositions));
  region->header().traps_timestamp_counter = parent.region().header().traps_timestamp_counter;
  region->header().own_descriptors = parent.own_descriptors();
  region->header().descriptor_limit = parent.descriptor_limit();
  region->header().gate = parent.region().header().gate;
  Process& child = add_process(std::make_unique<Process>(
      parent.program(), thread.copy_pid(), parent.host(), parent.host_index(), parent.name(),
      Rng(options_.seed, fmt::format("process/{}/random", thread.copy_pid())), std::move(region)));
  child.set_native_pid(native);
  adopt(child);
  child.set_patches(std::make_unique<code::CodePatches>(*parent.patches()));
  kernel_.paths_of(child).store(child.region(), working_folder_of(parent.region()));
  child.set_environment_text(parent.environment_text());
  child.begin_as_copy_of(parent, engine_.now());
  child.family().parent = parent.pid();
  child.family().group = parent.family().group;
  child.family().session = parent.family().session;
  child.family().first_of_program = false;
  child.family().holds_parent = a[3] != 0;
  child.family().shares_memory = a[3] == 3;
  kernel_.inherit(parent, child);
  for (const auto& [fd, file] : parent.files()) {
    const auto* signals = dynamic_cast<const SignalFile*>(file.get());
    child.outlives_its_end = child.outlives_its_end || signals != nullptr;
    child.install_at(fd, signals == nullptr ? file : std::make_shared<SignalFile>(child, signals->set()));
    if (!parent.closes_unknown_by_exec(fd)) continue;
    child.region().high_descriptors().close_on_exec[fd / 64].fetch_or(1ull << (fd % 64), std::memory_order_relaxed);
  }
  Thread* const first = make_thread(child, thread.slot());
  first->set_native_tid(native);
  first->scheduling = thread.scheduling;
  first->credentials = thread.credentials;
  child.limits = parent.limits;
  child.contexts() = parent.contexts();
  protocol::ThreadSlot& child_slot = child.region().slot(thread.slot());
  child_slot.virtual_tid = child.pid();
  first->publish_credentials();
  child_slot.context_address = parent.region().slot(thread.slot()).context_address;
  child_slot.signal_mask = parent.region().slot(thread.slot()).signal_mask;
  first->set_clear_tid(static_cast<std::uint64_t>(a[4]));
  first->call().request = protocol::Request::kSpend;
  first->run_at(engine_.now() + Duration(parent.host().costs.wake_up_ps) + first->scheduling_delay(kAfterWait));
  tracer_.record(child.host().component, TraceEvent::kProgramStarted, child.pid());
  if (child.family().holds_parent) return hold(thread, child);
  return Answer{child.pid()};
}

std::optional<Answer> Supervisor::Impl::hold(Thread& thread, Process& child) {
  thread.block({child.family().released}, kNever, "vfork on " + child.family().released->describe());
  return std::nullopt;
}

// A child of vfork or posix_spawn shares its parent's memory until it executes a program or ends, and
// leaves results there: above the parent's stack pointer or in variables of the program. The simulated
// child is a copy, so its writes are copied back. Variables are copied only while the parent has one live
// thread and no device contexts of its own: otherwise another thread or an adapter may write to them, and
// the stack alone is the child's.
void Supervisor::Impl::return_memory(Process& child) {
  Process* const parent = child.family().holds_parent && child.family().shares_memory ? parent_of(child) : nullptr;
  if (parent == nullptr) return;
  const auto lives = [](const auto& thread) { return thread->state() != Thread::State::kDead; };
  if (!parent->has_own_contexts() && std::ranges::count_if(parent->threads(), lives) == 1) return_variables(child, *parent);
  for (const auto& thread : parent->threads()) {
    if (thread->state() == Thread::State::kDead || thread->copy_pid() != child.pid()) continue;
    const std::uint64_t context = parent->region().slot(thread->slot()).context_address;
    const std::uint64_t at = context + offsetof(ucontext_t, uc_mcontext.gregs) + REG_RSP * sizeof(greg_t);
    const auto stack_pointer = parent->memory().load<std::uint64_t>(at);
    if (context == 0 || !stack_pointer) return;
    constexpr std::uint64_t kPage = 4096, kPages = 4;
    std::uint64_t from = *stack_pointer;
    for (std::uint64_t page = 0; page < kPages; ++page) {
      const std::uint64_t end = (from / kPage + 1) * kPage;
      std::vector<std::byte> own(end - from), theirs(end - from);
      if (!child.memory().read(from, own) || !parent->memory().read(from, theirs)) return;
      if (own != theirs) parent->memory().write(from, own);
      from = end;
    }
    return;
  }
}

void Supervisor::Impl::release_parent(Process& process) {
  if (!process.family().holds_parent) return;
  process.family().holds_parent = false;
  process.family().released->changed();
}

// Descriptors that exec keeps or closes.
Supervisor::Impl::Inherited Supervisor::Impl::inherited_by(Thread& thread) {
  Process& process = thread.process();
  Inherited inherited;
  const std::string folder = fmt::format("/proc/{}", process.native_pid());
  std::set<int> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/fd", error)) {
    numbers.insert(static_cast<int>(number_of(entry.path().filename(), 10)));
  }
  const int own = process.own_descriptors();
  for (const auto& [fd, file] : process.files()) {
    if (fd >= own && process.closes_unknown_by_exec(fd)) inherited.closed.push_back(fd);
  }
  int cause = 0;  // errno of the first descriptor that could not be copied
  for (const int fd : numbers) {
    if (fd >= own) continue;
    const bool closes = (number_of(field_of(fmt::format("{}/fdinfo/{}", folder, fd), "flags"), 8) & O_CLOEXEC) != 0;
    if (process.file(fd) != nullptr) {
      if (closes) inherited.closed.push_back(fd);
      if (!closes && fd != 1 && fd != 2) inherited.placeholders.push_back(fd);
      continue;
    }
    if (closes) continue;
    const int copy = kernel_.take_descriptor(process, thread.native_tid(), fd);
    if (copy >= 0) inherited.real.emplace_back(fd, copy);
    else if (cause == 0 && errno != EBADF) cause = errno;
  }
  if (cause != 0)
    finish(Outcome::kMachine, title(process) + " cannot execute a program without losing its open files (pidfd_getfd, ptrace): " + std::strerror(cause));
  return inherited;
}

std::optional<Answer> Supervisor::Impl::execute_program(Thread& thread) {
  Process& process = thread.process();
  const PendingCall& call = thread.call();
  const bool at = call.number == SYS_execveat;
  const auto* a = call.arguments + (at ? 1 : 0);
  if (at && (static_cast<int>(call.arguments[0]) != AT_FDCWD || call.arguments[4] != 0)) {
    warn(process, "executing a file by its descriptor is not simulated; the program got ENOSYS");
    return Answer{-ENOSYS};
  }
  const std::string folder = fmt::format("/proc/{}", process.native_pid());
  LaunchRequest request;
  std::error_code error;
  request.working_directory = std::filesystem::read_symlink(folder + "/cwd", error);
  const auto path = process.memory().load_string(static_cast<std::uint64_t>(a[0]), 4096);
  if (!path) return Answer{-EFAULT};
  if (path->empty()) return Answer{-ENOENT};
  const HostPaths& paths = kernel_.paths_of(process);
  std::string seen = path->front() == '/' ? *path : paths.seen(request.working_directory) + "/" + *path;
  if (const auto answer = kernel_.find_executable(thread, seen)) return answer;
  request.path = paths.native_in_use(seen, protocol::kViewOpens);
  if (request.path.empty()) return Answer{-ENOENT};
  std::optional<Kernel::OwnFileWork> own_work(std::in_place, kernel_, process.host_index());
  std::vector<std::string> executed = {request.path};
  std::size_t total = 0;
  int failed = load_strings(process.memory(), static_cast<std::uint64_t>(a[1]), request.arguments, total);
  if (failed == 0) failed = load_strings(process.memory(), static_cast<std::uint64_t>(a[2]), request.environment, total);
  if (failed == 0) failed = executable_error(request.path);
  if (failed != 0) return Answer{-failed};
  if (std::string reason = inspect_program(request.path, "", nullptr); !reason.empty()) {
    if (reason.starts_with(request.path)) reason.replace(0, request.path.size(), seen);  // the path that the program sees
    warn(process, "cannot execute " + reason);
    return Answer{-ENOEXEC};
  }
  if (request.arguments.empty()) request.arguments.push_back("");
  const std::string name = last_part(seen);
  if (request.path != seen) {
    // The kernel would pass the script's native path to the interpreter; the program must see its own path.
    for (auto words = interpreter_of(request.path); !words.empty(); words = interpreter_of(request.path)) {
      words.push_back(seen);
      request.arguments.erase(request.arguments.begin());
      request.arguments.insert(request.arguments.begin(), words.begin(), words.end());
      seen = words.front();
      request.path = paths.native_in_use(seen, protocol::kViewOpens);
      executed.push_back(request.path);
      if (request.arguments.size() > 4096) return Answer{-ELOOP};
    }
    if (seen.size() <= request.path.size()) request.trace.seen_path = seen;
  }

  auto region = std::make_unique<ProcessRegion>();
  fill_header(*region, process.pid(), process.family().parent, process.host_index());
  for (int signal = 1; signal <= 64; ++signal) {
    if (process.disposition(signal) != protocol::kSignalIgnored) continue;
    region->header().dispositions[signal] = protocol::kSignalIgnored;
    request.ignored_signals.push_back(signal);
  }
  const std::string status = fmt::format("{}/task/{}/status", folder, thread.native_tid());
  const std::uint64_t mask = process.region().slot(thread.slot()).signal_mask;
  request.signal_mask = mask & ~protocol::kReservedSignals;
  region->slot(0).signal_mask = mask;
  request.umask = static_cast<unsigned>(number_of(field_of(status, "Umask"), 8));
  region->slot(0).virtual_tid = process.pid();
  region->slot(0).clock_ps = to_ps(engine_.now());
  Inherited inherited = inherited_by(thread);
  // Descriptors 1 and 2 of the program keep their bit "virtual" from the first instruction on.
  for (const auto& [fd, file] : process.files()) region->set_virtual(fd, true);
  for (const int fd : inherited.closed) region->set_virtual(fd, false);
  paths.store(*region, working_folder_of(process.region()));
  request.placeholders = inherited.placeholders;
  request.descriptors = inherited.real;
  const auto make_room = [&](int fd) { request.own_descriptors = std::max(request.own_descriptors, fd + 1); };
  std::ranges::for_each(inherited.placeholders, make_room);
  std::ranges::for_each(inherited.real, make_room, &std::pair<int, int>::first);
  region->header().own_descriptors = request.own_descriptors;
  region->header().descriptor_limit = process.descriptor_limit();
  request.shim_directory = options_.shim_directory;
  request.region_fd = region->fd();
  request.passage_fd = kernel_.passage().far_end();
  request.core = core_;
  auto patches = std::make_unique<code::CodePatches>(options_.machine.jumps);
  equip(request, process.host_index(), fmt::format("process/{}/at_random/{}", process.pid(), process.executions()),
        *patches);
  request.trace.credentials = thread.credentials;
  request.trace.credentials.execute();
  LaunchedProcess launched = start_process(request);
  if (launched.is_refused_by_machine) {
    finish(Outcome::kMachine, title(process) + " could not execute a program: " + launched.error);
    return std::nullopt;
  }
  if (!launched.error.empty()) {
    warn(process, launched.error, true);  // every reason that Linux has to refuse the file was checked before
    return Answer{-EAGAIN};
  }
  if (asks_for_privilege(request.path)) {
    warn(process, request.path + " has the set-user-id or set-group-id bit; it runs without that privilege");
  }

  own_work.reset();
  show_execution(process.host_index(), executed);
  process.limits.enforce(launched.pid, request.own_descriptors);
  const Scheduling scheduling = thread.scheduling;
  const Credentials credentials = request.trace.credentials;
  return_memory(process);
  process.keep_registered_memory(true);
  const pid_t old = process.native_pid();
  end_child(old);
  kernel_.deliver_file_events(process.host_index());  // closing of descriptors by exec
  thread.finish_call();
  kernel_.forget_waits(process);
  for (const int fd : inherited.closed) process.close(fd);
  process.replace(name, std::move(region), launched.pid);
  process.set_environment(request.environment);
  release_parent(process);
  begin(process, std::move(launched), std::move(patches), scheduling, credentials);
  return std::nullopt;
}

void Supervisor::Impl::signal_process(Process& process, int signal, const SignalOrigin& origin) {
  if (signal == SIGKILL) {
    // No thread of the process runs now: all sleep until they get the token.
    process.ended_by_us = true;
    kernel_.release_robust_locks(process);
    process.keep_registered_memory();
    kill(process.native_pid(), SIGKILL);
    return end(process);
  }
  if (stops(process, signal)) return kernel_.may_be_stopped(process, signal) ? stop_process(process, signal) : void();
  if (signal == SIGCONT) continue_process(process);
  send_signal(process, signal, origin);
}

// The process's threads make no calls until it is continued; requests that they have posted
// to an adapter go on.
void Supervisor::Impl::stop_process(Process& process, int signal) {
  if (process.stopped_by != 0) return;
  process.stopped_by = signal;
  // the next look of a parked thread is postponed until SIGCONT
  for (auto& thread : process.threads()) thread->unpark();
  notify_parent(process, W_STOPCODE(signal));
}

void Supervisor::Impl::continue_process(Process& process) {
  if (process.stopped_by == 0) return;
  process.stopped_by = 0;
  const Duration wake_up(process.host().costs.wake_up_ps);
  for (auto& thread : process.threads()) thread->go_on(engine_.now() + wake_up);
  notify_parent(process, __W_CONTINUED);
}

// Reports a stop or a continuation to the parent, for wait(2) and by SIGCHLD unless it set SA_NOCLDSTOP.
void Supervisor::Impl::notify_parent(Process& process, int status) {
  Process* const parent = parent_of(process);
  if (parent == nullptr) return;
  auto& changed = parent->family().changed;
  std::erase_if(changed, [&](const EndedChild& child) { return child.pid == process.pid(); });
  changed.push_back({process.pid(), process.family().group, status, process.credentials().users().real});
  parent->family().children->changed();
  if (parent->region().header().silent_stops != 0) return;
  send_signal(*parent, SIGCHLD, origin_of_child(process.pid(), status, process.credentials().users().real));
}

Process* Supervisor::Impl::parent_of(Process& process) {
  for (Process* const other : on_host_[process.host_index()]) {
    if (other->alive && other->pid() == process.family().parent) return other;
  }
  return nullptr;
}

// The process has ended; `status` is a wait status of wait(2).
void Supervisor::Impl::end_family(Process& process, int status) {
  release_parent(process);
  Family& family = process.family();
  family.ended.clear();
  family.changed.clear();
  for (Process* const other : on_host_[process.host_index()]) {
    if (!other->alive) continue;
    if (other->family().parent == process.pid()) {
      other->family().parent = Family::kInit;
      other->region().header().parent_virtual_pid = Family::kInit;
    }
  }
  Process* const parent = parent_of(process);
  if (parent == nullptr) return;
  std::erase_if(parent->family().changed,
                [&](const EndedChild& child) { return child.pid == process.pid(); });
  if (parent->disposition(SIGCHLD) != protocol::kSignalIgnored) {
    parent->family().ended.push_back({process.pid(), family.group, status, process.credentials().users().real});
  }
  parent->family().children->changed();
  send_signal(*parent, SIGCHLD, origin_of_child(process.pid(), status, process.credentials().users().real));
}

}  // namespace verbatim::supervisor

#include "sim/supervisor/machine/launcher.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

#include "sim/core/open_file.h"
#include "sim/core/sanitizer.h"
#include "sim/supervisor/code/elf_tables.h"
#include "sim/supervisor/machine/child_status.h"
#include "sim/supervisor/machine/file_identity.h"
#include "sim/supervisor/machine/needed_libraries.h"
#include "sim/supervisor/machine/path_names.h"
#include "sim/supervisor/machine/waiting.h"
#include "verbs_shim/protocol/environment.h"
#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {

namespace {

// Size unit of the strings; every page of them is filled and mapped for every program.
constexpr std::size_t kStringsUnit = 16 * 1024;

std::string resolve(const std::string& name, const std::string& working_directory, const NativeOf& native_of) {
  const auto absolute = [&](std::string path) {
    if (path.starts_with('/')) return path;
    // The path is relative to the program's working directory.
    std::string base = working_directory;
    if (!base.starts_with('/')) {
      char buffer[PATH_MAX];
      const std::string caller = getcwd(buffer, sizeof buffer) != nullptr ? buffer : "/";
      base = base.empty() ? caller : caller + "/" + base;
    }
    if (native_of) return normal_path(base + "/" + path);
    // Canonical folder, so that every spelling gives the path by which the hosts' folders are known.
    std::error_code error;
    const std::filesystem::path whole = base + "/" + path, folder = std::filesystem::weakly_canonical(whole.parent_path(), error);
    return error ? whole.string() : (folder / whole.filename()).string();
  };
  if (name.find('/') != std::string::npos) return absolute(name);
  const std::string path = kProgramPath;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t end = std::min(path.find(':', start), path.size());
    const std::string candidate = path.substr(start, end - start) + "/" + name;
    if (access((native_of ? native_of(candidate) : candidate).c_str(), X_OK) == 0) return candidate;
    start = end + 1;
  }
  return {};
}

// Whether the ELF image with these first bytes can run under the shim.
Inspection inspect_image(const std::string& path, const std::string& bytes, std::istream& file) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) return {path + " is not a program"};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64) {
    return {path + " is built for another architecture; only 64-bit x86 programs can be simulated"};
  }
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!code::load(std::as_bytes(std::span(bytes)), header.e_phoff + std::uint64_t{i} * sizeof segment, segment)) break;
    if (segment.p_type != PT_INTERP || segment.p_filesz > PATH_MAX) continue;
    // After the program header table, which may be long.
    std::string interpreter(segment.p_filesz, '\0');
    file.clear();
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    file.read(interpreter.data(), static_cast<std::streamsize>(interpreter.size()));
    if (file.bad()) return {path + " cannot be read: " + std::strerror(errno), true};
    if (!file) continue;
    interpreter.resize(std::strlen(interpreter.c_str()));
    if (interpreter == "/lib64/ld-linux-x86-64.so.2") return {};
    return {path + " uses the loader " + interpreter + "; only programs of the GNU C library can be simulated"};
  }
  return {path + " is statically linked, so the verbs library cannot be put in its place; link it dynamically"};
}

Inspection inspect_file(const std::string& path, const NativeOf& native_of, int depth) {
  const std::string native = native_of ? native_of(path) : path;
  struct stat status;
  if (stat(native.c_str(), &status) != 0) return {path + ": " + std::strerror(errno), !is_error_of_file(errno)};
  if (!S_ISREG(status.st_mode)) return {path + " is not a file"};
  if (access(native.c_str(), X_OK) != 0) return {path + " is not executable"};
  // Linux executes it, but makes the process undumpable: the simulator could not access its memory.
  if (access(native.c_str(), R_OK) != 0) {
    return {path + " may be executed but not read, so that its memory cannot be reached; make it readable (chmod a+r)"};
  }
  // Consecutive runs of one process look at the same programs.
  thread_local FoundInFiles<bool> usable;
  const FileIdentity identity = identity_of(status);
  if (usable.find(identity) != nullptr) return {};
  std::ifstream file(native, std::ios::binary);
  std::string bytes(4096, '\0');
  if (file.is_open()) file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.is_open() || file.bad()) return {path + " cannot be read: " + std::strerror(errno), true};
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (bytes.starts_with("#!")) {
    if (depth > 4) return {path + ": too many interpreters in a row"};
    const std::size_t start = bytes.find_first_not_of(" \t", 2);
    const std::size_t end = bytes.find_first_of(" \t\n", start);
    if (start == std::string::npos || end == std::string::npos) return {path + " names no interpreter"};
    return inspect_file(bytes.substr(start, end - start), native_of, depth + 1);
  }
  if (!bytes.starts_with(ELFMAG)) return {path + " is neither a program nor a script that names its interpreter"};
  Inspection inspection = inspect_image(path, bytes, file);
  if (inspection.reason.empty()) usable.add(identity, true);
  return inspection;
}

void fix_limits() {
  const rlimit stack{kStackLimit, RLIM_INFINITY};
  setrlimit(RLIMIT_STACK, &stack);
  const rlimit half{kStackLimit, kStackLimit};
  rlimit now;
  if (getrlimit(RLIMIT_STACK, &now) == 0 && now.rlim_cur != kStackLimit) setrlimit(RLIMIT_STACK, &half);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // The limits that the program sees are simulated (resource_limits.h); the caller's soft
  // limits must not end it.
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_CPU, RLIMIT_RSS, RLIMIT_MEMLOCK, RLIMIT_NPROC,
                              RLIMIT_SIGPENDING, RLIMIT_RTTIME, RLIMIT_NOFILE}) {
    rlimit limit;
    if (getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
  }
}

// The program's own descriptors are below the shim's.
void limit_descriptors(int own_descriptors) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = static_cast<rlim_t>(own_descriptors);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Resets the supervisor's short time slice and timer slack.
void reset_scheduling() {
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime_ns, deadline, period;
  } attributes{48, SCHED_OTHER, 0, getpriority(PRIO_PROCESS, 0), 0, 0, 0, 0};
  syscall(SYS_sched_setattr, 0, &attributes, 0);
  constexpr unsigned long kUsualSlackNs = 50'000;
  prctl(PR_SET_TIMERSLACK, kUsualSlackNs);
}

struct ChildPlan {
  const LaunchRequest* request;
  char* const* argv;
  char* const* envp;
  int stdin_fd, stdout_fd, stderr_fd, placeholder_fd, directory_fd, error_fd;
  pid_t parent;
  unsigned descriptors_end;  // one more than the highest descriptor that the child needs
};

// Runs in the child between clone and exec, in the simulator's memory, while the simulator waits.
// Signals are blocked, so no handler of the simulator runs there. Reports the errno of the first
// failure through error_fd.
[[noreturn]] void become(const ChildPlan& plan) {
  const auto fail = [&] {
    const int error = errno;
    [[maybe_unused]] const ssize_t n = write(plan.error_fd, &error, sizeof error);
    _exit(127);
  };
  // Copies only the descriptors that the child needs: exec would close the others one by one.
  if (syscall(SYS_close_range, plan.descriptors_end, ~0u, CLOSE_RANGE_UNSHARE) != 0) fail();
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A program that gained privilege by exec would lose the preloaded libraries and could not be traced.
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (getppid() != plan.parent) _exit(127);
  // Resets all signals by system call, since libc refuses its own two.
  const struct {
    void* handler;
    unsigned long flags;
    void* restorer;
    std::uint64_t mask;
  } standard{};
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal == SIGKILL || signal == SIGSTOP) continue;  // never changed
    if (syscall(SYS_rt_sigaction, signal, &standard, nullptr, sizeof(std::uint64_t)) != 0) fail();
  }
  for (const int signal : plan.request->ignored_signals) ::signal(signal, SIG_IGN);
  if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &plan.request->signal_mask, nullptr, sizeof(std::uint64_t)) != 0) fail();
  umask(plan.request->umask);
  fix_limits();
  reset_scheduling();
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(plan.request->core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
  if (plan.request->working_directory_fd >= 0) {
    if (fchdir(plan.request->working_directory_fd) != 0) fail();
  } else if (!plan.request->working_directory.empty() && chdir(plan.request->working_directory.c_str()) != 0) {
    fail();
  }
  // Addresses that stay random are moved (memory_places.h).
  personality(plan.request->switches_randomisation_off ? ADDR_NO_RANDOMIZE : 0);

  // The descriptors are above the numbers that they are copied to; see moved_to().
  if (dup2(plan.stdin_fd, 0) < 0 || dup2(plan.stdout_fd, 1) < 0 || dup2(plan.stderr_fd, 2) < 0) fail();
  const int own = plan.request->own_descriptors;
  if (dup2(plan.request->region_fd, own + protocol::kRegionFd) < 0) fail();
  if (dup2(plan.placeholder_fd, own + protocol::kPlaceholderFd) < 0) fail();
  if (dup2(plan.directory_fd, own + protocol::kShimDirectoryFd) < 0) fail();
  if (dup2(plan.request->passage_fd, own + protocol::kPassageFd) < 0) fail();
  if (syscall(SYS_close_range, 3, own - 1, 0) != 0) fail();
  for (const int fd : plan.request->placeholders) {
    if (dup2(plan.placeholder_fd, fd) < 0) fail();
  }
  for (const auto& [fd, ours] : plan.request->descriptors) {
    if (dup2(ours, fd) < 0) fail();
  }
  if (syscall(SYS_close_range, own + protocol::kOwnDescriptors, ~0u, CLOSE_RANGE_CLOEXEC) != 0) fail();
  limit_descriptors(own);
  const int ruleset = plan.request->ruleset_fd;
  if (ruleset >= 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) fail();
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0) {
    execve(plan.request->path.c_str(), plan.argv, plan.envp);
  }
  fail();
  _exit(127);
}

// A simulator with thousands of programs has many page tables and descriptors: the child borrows them
// instead of copying.
pid_t start_child(const ChildPlan& plan) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  alignas(16) static std::array<std::byte, 64 * 1024> stack;
  const auto run = [](void* plan) -> int { become(*static_cast<const ChildPlan*>(plan)); };
  // AddressSanitizer must know every stack, so the child is forked.
  const pid_t child = kHasAddressSanitizer
                          ? fork_process()
                          : clone(run, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD,
                                  const_cast<ChildPlan*>(&plan));
  if (child == 0) become(plan);
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return child;
}

bool has_input(int pipe) {
  pollfd end{.fd = pipe, .events = POLLIN, .revents = 0};
  int ready = 0;
  while ((ready = poll(&end, 1, 0)) < 0 && errno == EINTR) {
  }
  return ready == 1 && (end.revents & POLLIN) != 0;
}

// Appends everything that is in the pipe. The pipe has writers and would block.
void read_rest(int pipe, std::string& output) {
  char bytes[4096];
  while (has_input(pipe)) {
    const ssize_t n = read(pipe, bytes, sizeof bytes);
    if (n > 0) output.append(bytes, static_cast<std::size_t>(n));
    else if (n == 0 || errno != EINTR) return;
  }
}

int moved_to(int lowest, int fd) {
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
  if (moved < 0) return fd;
  close(fd);
  return moved;
}

// The shim's libraries follow those that the program preloads itself: libraries that interpose verbs calls
// still do, and the shim's constructor, last in the list, runs first.
void add_to_loader(std::vector<std::string>& environment, const std::string& name, const std::string& ours) {
  std::string value;
  for (std::string& text : environment) {
    if (!text.starts_with(name + "=")) continue;
    if (value.empty()) value = text.substr(name.size() + 1);
    text.insert(0, protocol::kKeptVariable);
  }
  environment.insert(environment.begin(), name + "=" + (value.empty() ? ours : value + ":" + ours));
}

// The arguments as execve(2) passes them: those of a script follow its interpreter.
std::vector<std::string> executed_arguments(const LaunchRequest& request) {
  std::vector<std::string> arguments = request.arguments;
  std::string path = request.path;
  for (int depth = 0; depth < 5; ++depth) {
    std::vector<std::string> words = interpreter_of(path).value_or(std::vector<std::string>());
    if (words.empty()) break;
    words.push_back(path);
    if (!arguments.empty()) arguments.erase(arguments.begin());
    arguments.insert(arguments.begin(), words.begin(), words.end());
    path = words.front();
  }
  return arguments;
}

// Argv, envp and the file name together fill a whole number of units, whatever paths they contain. The file name
// counts as the longest one: the size does not depend on where the machine has the file.
std::vector<std::string> padded_environment(const LaunchRequest& request) {
  const std::string through = "/proc/self/fd/" + std::to_string(request.own_descriptors + protocol::kShimDirectoryFd) + "/";
  std::vector<std::string> environment = request.environment;
  add_to_loader(environment, "GLIBC_TUNABLES", "glibc.pthread.rseq=0");
  add_to_loader(environment, "LD_PRELOAD",
                through + "libverbatim_runtime.so:" + through + "libibverbs.so.1:" + through + "libmlx5.so.1");
  if (!request.first_library.empty()) environment.front().insert(sizeof "LD_PRELOAD=" - 1, request.first_library + ":");
  std::size_t size = PATH_MAX;
  for (const std::string& text : executed_arguments(request)) size += text.size() + 1;
  for (const std::string& text : environment) size += text.size() + 1;
  const std::string pad = "VERBATIM_PAD=";
  size += pad.size() + 1;
  const std::size_t rest_of_name = PATH_MAX - std::min<std::size_t>(request.path.size() + 1, PATH_MAX);
  environment.push_back(pad + std::string((kStringsUnit - size % kStringsUnit) % kStringsUnit + rest_of_name, 'x'));
  return environment;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

bool is_error_of_file(int error) {
  constexpr int kErrors[] = {E2BIG, EACCES,       EINVAL, EISDIR,  ELIBBAD, ELOOP,
                             ENOENT, ENAMETOOLONG, ENOEXEC, ENOTDIR, ETXTBSY};
  return std::ranges::find(kErrors, error) != std::end(kErrors);
}

Inspection inspect_program(const std::string& name, const std::string& working_directory, std::string* resolved,
                           const NativeOf& native_of) {
  const std::string path = resolve(name, working_directory, native_of);
  if (path.empty()) return {"there is no program \"" + name + "\" in " + kProgramPath};
  if (resolved != nullptr) *resolved = path;
  return inspect_file(path, native_of, 0);
}

std::optional<std::vector<std::string>> interpreter_of(const std::string& path) {
  std::string line;
  std::ifstream file(path, std::ios::binary);
  if (file.is_open()) std::getline(file, line);
  if (!file.is_open() || file.bad()) return std::nullopt;
  if (!line.starts_with("#!")) return std::vector<std::string>();
  const std::size_t start = line.find_first_not_of(" \t", 2);
  if (start == std::string::npos) return std::vector<std::string>();
  const std::size_t end = std::min(line.find_first_of(" \t", start), line.size());
  std::vector<std::string> words = {line.substr(start, end - start)};
  const std::size_t rest = line.find_first_not_of(" \t", end);
  const std::size_t last = line.find_last_not_of(" \t");
  if (rest != std::string::npos) words.push_back(line.substr(rest, last - rest + 1));
  return words;
}

bool asks_for_privilege(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0;
}

// LeakSanitizer stops the program by ptrace, and ends it with an error where that fails.
void adapt_to_sanitizers(LaunchRequest& request) {
  thread_local FoundInFiles<DynamicNames> known;
  struct stat status;
  const bool is_there = stat(request.path.c_str(), &status) == 0;
  const FileIdentity identity = is_there ? identity_of(status) : FileIdentity();
  const DynamicNames* const found = is_there ? known.find(identity) : nullptr;
  const DynamicNames& names = found != nullptr ? *found : known.add(identity, dynamic_names_of(request.path));
  request.trace.has_thread_sanitizer = names.has_thread_sanitizer();
  if (!names.has_address_sanitizer()) return;
  request.first_library = names.needed_first();
  const bool is_decided = std::ranges::any_of(request.environment, [](const std::string& text) {
    return text.starts_with("LSAN_OPTIONS=") || text.find("detect_leaks") != std::string::npos;
  });
  if (!is_decided) request.environment.emplace_back("LSAN_OPTIONS=detect_leaks=0");
}

LaunchedProcess launch(const LaunchRequest& request) {
  LaunchedProcess launched;
  int out[2], err[2], error_pipe[2];
  const int stdin_fd = open_file("/dev/null", O_RDONLY | O_CLOEXEC);
  const int placeholder_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const int directory_fd = open_file(request.shim_directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (stdin_fd < 0 || placeholder_fd < 0 || directory_fd < 0 || pipe2(out, O_CLOEXEC) != 0 ||
      pipe2(err, O_CLOEXEC) != 0 || pipe2(error_pipe, O_CLOEXEC) != 0) {
    launched.error = std::string("cannot open the descriptors a program needs: ") + std::strerror(errno);
    launched.is_refused_by_machine = true;
    return launched;
  }

  std::vector<std::string> arguments = request.arguments;
  std::vector<std::string> environment = padded_environment(request);
  std::vector<char*> argv = pointers(arguments);
  std::vector<char*> envp = pointers(environment);

  // Moves every descriptor above the numbers that the child uses.
  const int above = request.own_descriptors + protocol::kOwnDescriptors;
  bool has_room = true;
  unsigned descriptors_end = 0;
  const auto needed = [&](int fd) {
    descriptors_end = std::max(descriptors_end, static_cast<unsigned>(fd) + 1);
    return fd;
  };
  const auto high = [&](int fd) {
    const int moved = moved_to(above, fd);
    has_room = has_room && moved >= above;
    return needed(moved);
  };
  ChildPlan plan{&request,       argv.data(),          envp.data(),        high(stdin_fd),      high(out[1]),
                 high(err[1]),   high(placeholder_fd), high(directory_fd), high(error_pipe[1]), getpid(), 0};
  LaunchRequest moved = request;
  for (int* const fd : {&moved.region_fd, &moved.passage_fd, &moved.ruleset_fd}) {
    if (*fd < 0) continue;
    const int copy = fcntl(*fd, F_DUPFD_CLOEXEC, above);
    *fd = needed(copy < 0 ? dup(*fd) : copy);
  }
  for (auto& [fd, ours] : moved.descriptors) ours = high(ours);
  plan.request = &moved;
  plan.descriptors_end = descriptors_end;

  // A descriptor among the target numbers would be overwritten.
  const bool is_full = !has_room && request.own_descriptors != own_descriptors().at_first;
  if (!is_full) launched.pid = start_child(plan);
  const int launch_error = is_full ? EMFILE : errno;
  for (const int fd : {plan.stdin_fd, plan.stdout_fd, plan.stderr_fd, plan.placeholder_fd, plan.directory_fd,
                       plan.error_fd, moved.region_fd, moved.passage_fd}) {
    close(fd);
  }
  if (moved.ruleset_fd >= 0) close(moved.ruleset_fd);
  for (const auto& [fd, ours] : moved.descriptors) close(ours);
  if (launched.pid < 0) {
    launched.error = std::string("cannot start a process: ") + std::strerror(launch_error) +
                     (launch_error == EAGAIN   ? "; raise the limit on processes (ulimit -u)"
                      : launch_error == EMFILE ? "; raise the limit on open files (ulimit -Hn)"
                                               : "");
    launched.is_refused_by_machine = true;
  } else {
    const int status = await_status(launched.pid);
    if (!WIFSTOPPED(status)) {
      int error = 0;
      if (read(error_pipe[0], &error, sizeof error) != sizeof error) error = ECHILD;
      launched.error = "cannot execute " + request.path + ": " + std::strerror(error);
      // ECHILD: the kernel has killed it in execve(2), because segments of the file cannot be mapped.
      launched.is_refused_by_machine = error != ECHILD && error != ETXTBSY && !is_error_of_file(error);
      launched.is_open_for_writing = error == ETXTBSY;
      launched.pid = -1;
    } else {
      LoaderTrace trace(launched.pid, request.trace, *request.code_files, *request.patches);
      if (trace.prepare() && trace.run(std::array{out[0], err[0]}, launched.early_output)) {
        launched.auxiliary_vector = trace.auxiliary_vector();
        read_rest(out[0], launched.early_output[0]);
        read_rest(err[0], launched.early_output[1]);
      } else {
        end_child(launched.pid);
        launched.error = "cannot prepare " + request.path + " at its exec stop: " + trace.error();
        launched.is_refused_by_machine = !trace.is_unsuitable();
        launched.pid = -1;
      }
    }
  }
  for (const int fd : {out[0], err[0], error_pipe[0]}) close(fd);
  return launched;
}

}  // namespace verbatim::supervisor

// exec: the new program is launched like a first program, and the old Linux process is killed.
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "sim/core/open_file.h"
#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/machine/child_status.h"
#include "sim/supervisor/machine/file_copy.h"
#include "sim/supervisor/process_factory.h"
#include "sim/supervisor/process_fields.h"
#include "sim/supervisor/process_lifetimes.h"
#include "sim/supervisor/process_list.h"
#include "sim/supervisor/run_report.h"
#include "sim/supervisor/vfork_memory.h"

namespace verbatim::supervisor {

namespace {

// bytes of one string of argv or envp: MAX_ARG_STRLEN of Linux
constexpr std::size_t kLongestString = 128 * 1024;
constexpr std::size_t kMostStrings = 2 << 20;  // bytes of all strings

// Reads the strings of a null-terminated array of pointers. Returns 0, EFAULT or E2BIG.
int load_strings(ProcessMemory& memory, std::uint64_t array, std::vector<std::string>& strings,
                 std::size_t& total) {
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

// Errno with which execve(2) would refuse the file; 0: none, or the machine does not let the file be read,
// which inspect_program() finds.
int executable_error(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return is_error_of_file(errno) ? errno : 0;
  if (!S_ISREG(status.st_mode) || access(path.c_str(), X_OK) != 0) return EACCES;
  char magic[4] = {};
  std::ifstream file(path, std::ios::binary);
  if (file.is_open()) file.read(magic, sizeof magic);
  if (!file.is_open() || file.bad()) return 0;
  const std::string_view start(magic, sizeof magic);
  return start.starts_with("#!") || start == ELFMAG ? 0 : ENOEXEC;
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

// Generates the inotify events of an exec as Linux does: each file is opened and its beginning read, and
// scripts (all files but the last) are closed.
void ProcessFactory::show_execution(std::size_t host, const std::vector<std::string>& files) {
  if (!parts_.kernel.watches_files(host)) return;
  for (const std::string& path : files) {
    const int fd = open_file(path, O_RDONLY | O_CLOEXEC);
    char beginning[256];
    const bool is_read = read(fd, beginning, sizeof beginning) >= 0;
    parts_.kernel.fetch_file_events(host);
    if (fd >= 0) close(fd);
    parts_.kernel.fetch_file_events(host, is_read && &path == &files.back());
  }
}

// Descriptors that exec keeps or closes.
ProcessFactory::Inherited ProcessFactory::inherited_by(Thread& thread) {
  Process& process = thread.process();
  Inherited inherited;
  const std::string folder = fmt::format("/proc/{}", process.native_pid());
  std::set<int> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/fd", error)) {
    numbers.insert(static_cast<int>(number_of(entry.path().filename(), 10)));
  }
  int cause = error.value();  // errno of the first descriptor that could not be copied
  const int own = process.files().own_descriptors();
  for (const auto& [fd, file] : process.files().all()) {
    if (fd >= own && process.files().closes_unknown_by_exec(fd)) inherited.closed.push_back(fd);
  }
  for (const int fd : numbers) {
    if (fd >= own) continue;
    const bool closes =
        (number_of(field_of(fmt::format("{}/fdinfo/{}", folder, fd), "flags"), 8) & O_CLOEXEC) != 0;
    if (process.files().at(fd) != nullptr) {
      if (closes) inherited.closed.push_back(fd);
      if (!closes && fd != 1 && fd != 2) inherited.placeholders.push_back(fd);
      continue;
    }
    if (closes) continue;
    const int copy = parts_.kernel.take_descriptor(process, thread.native.tid, fd);
    if (copy >= 0)
      inherited.real.emplace_back(fd, copy);
    else if (cause == 0 && errno != EBADF)
      cause = errno;
  }
  if (cause != 0)
    parts_.report.finish(
        Outcome::kMachine,
        parts_.report.title(process) +
            " cannot execute a program without losing its open files (pidfd_getfd, ptrace): " +
            std::strerror(cause));
  return inherited;
}

namespace {

// See RegionHeader. `closed`: virtual descriptors that exec closes; `real`: real ones that stay open.
std::uint8_t closed_standard(const Process& process, const std::vector<int>& closed,
                             const std::vector<std::pair<int, int>>& real) {
  unsigned all = 0;
  for (int fd = 0; fd <= 2; ++fd) {
    const bool is_virtual = process.files().at(fd) != nullptr && std::ranges::find(closed, fd) == closed.end();
    const bool is_real = std::ranges::find(real, fd, &std::pair<int, int>::first) != real.end();
    if (!is_virtual && !is_real) all |= 1u << fd;
  }
  return static_cast<std::uint8_t>(all);
}

}  // namespace

std::optional<Answer> ProcessFactory::execute(Thread& thread) {
  Process& process = thread.process();
  const PendingCall& call = thread.call();
  const bool at = call.number == SYS_execveat;
  const auto* a = call.arguments + (at ? 1 : 0);
  if (at && (static_cast<int>(call.arguments[0]) != AT_FDCWD || call.arguments[4] != 0)) {
    parts_.report.warn(process,
                       "executing a file by its descriptor is not simulated; the program got ENOSYS");
    return Answer{-ENOSYS};
  }
  const auto refused_by_machine = [&](const std::string& why) -> std::optional<Answer> {
    parts_.report.finish(Outcome::kMachine,
                         parts_.report.title(process) + " could not execute a program: " + why);
    return std::nullopt;
  };
  const std::string folder = fmt::format("/proc/{}", process.native_pid());
  LaunchRequest request;
  std::error_code error;
  request.working_directory = std::filesystem::read_symlink(folder + "/cwd", error);
  const bool is_too_long = error == std::errc::filename_too_long;
  if (error && !is_too_long) return refused_by_machine("its working folder cannot be read: " + error.message());
  const Descriptor works_in(open_file(folder + "/cwd", O_PATH | O_DIRECTORY | O_CLOEXEC));
  request.working_directory_fd = works_in.get();
  const auto path = process.memory().load_string(static_cast<std::uint64_t>(a[0]), 4096);
  if (!path) return Answer{-EFAULT};
  if (path->empty()) return Answer{-ENOENT};
  if (is_too_long && path->front() != '/') return Answer{-ENAMETOOLONG};
  const HostPaths& paths = parts_.kernel.paths_of(process);
  std::string seen = path->front() == '/' ? *path : paths.seen(request.working_directory) + "/" + *path;
  if (const auto answer = parts_.kernel.find_executable(thread, seen)) return answer;
  request.path = paths.executable(seen);
  if (request.path.empty()) return Answer{-ENOENT};
  std::optional<Kernel::OwnFileWork> own_work(std::in_place, parts_.kernel, process.host_index());
  std::vector<std::string> executed = {request.path};
  std::size_t total = 0;
  int failed = load_strings(process.memory(), static_cast<std::uint64_t>(a[1]), request.arguments, total);
  if (failed == 0)
    failed = load_strings(process.memory(), static_cast<std::uint64_t>(a[2]), request.environment, total);
  if (failed == 0) failed = executable_error(request.path);
  if (failed != 0) return Answer{-failed};
  const NativeOf native_of = paths.views_all() ? native_of_program(paths) : NativeOf();
  if (auto [reason, is_refused] =
          inspect_program(paths.views_all() ? seen : request.path, "", nullptr, native_of);
      !reason.empty()) {
    if (is_refused) return refused_by_machine(reason);
    if (reason.starts_with(request.path))
      reason.replace(0, request.path.size(), seen);  // the path that the program sees
    parts_.report.warn(process, "cannot execute " + reason);
    return Answer{-ENOEXEC};
  }
  if (request.arguments.empty()) request.arguments.push_back("");
  const std::string name = last_part(seen);
  if (request.path != seen) {
    const int error = show_as(request, paths, seen, &executed);
    if (error == EIO) return refused_by_machine(request.path + " cannot be read");
    if (error != 0) return Answer{-error};
  }

  auto region = std::make_unique<ProcessRegion>();
  headers_.fill(*region, process.pid(), process.family().parent, process.host_index());
  for (int signal = 1; signal <= 64; ++signal) {
    if (process.disposition(signal) != protocol::kSignalIgnored) continue;
    region->header().dispositions[signal] = protocol::kSignalIgnored;
    request.ignored_signals.push_back(signal);
  }
  const std::string status = fmt::format("{}/task/{}/status", folder, thread.native.tid);
  const std::uint64_t mask = process.region().slot(thread.slot()).signal_mask;
  request.signal_mask = mask & ~protocol::kReservedSignals;
  region->slot(0).signal_mask = mask;
  request.umask = static_cast<unsigned>(number_of(field_of(status, "Umask"), 8));
  region->slot(0).virtual_tid = process.pid();
  region->slot(0).clock_ps = to_ps(run_.engine.now());
  Inherited inherited = inherited_by(thread);
  // Descriptors 1 and 2 of the program keep their bit "virtual" from the first instruction on.
  for (const auto& [fd, file] : process.files().all()) region->set_virtual(fd, true);
  for (const int fd : inherited.closed) region->set_virtual(fd, false);
  region->header().closed_standard = closed_standard(process, inherited.closed, inherited.real);
  paths.store(*region, working_folder_of(process.region()));
  request.placeholders = inherited.placeholders;
  request.descriptors = inherited.real;
  const auto make_room = [&](int fd) { request.own_descriptors = std::max(request.own_descriptors, fd + 1); };
  std::ranges::for_each(inherited.placeholders, make_room);
  std::ranges::for_each(inherited.real, make_room, &std::pair<int, int>::first);
  region->header().own_descriptors = request.own_descriptors;
  region->header().descriptor_limit = process.files().limit();
  auto patches = std::make_unique<code::CodePatches>(run_.options.machine.jumps);
  equip(request, *region, process.host_index(),
        fmt::format("process/{}/at_random/{}", process.pid(), process.executions()), *patches);
  request.trace.credentials = thread.credentials;
  request.trace.credentials.execute();
  LaunchedProcess launched = start(request);
  if (launched.is_open_for_writing) return Answer{-ETXTBSY};
  if (launched.is_refused_by_machine) return refused_by_machine(launched.error);
  if (!launched.error.empty()) {
    parts_.report.warn(process, launched.error, true);  // not every reason was checked before
    return Answer{-EAGAIN};
  }
  if (asks_for_privilege(request.path)) {
    parts_.report.warn(
        process, request.path + " has the set-user-id or set-group-id bit; it runs without that privilege");
  }

  own_work.reset();
  show_execution(process.host_index(), executed);
  process.limits.enforce(launched.pid, request.own_descriptors);
  const Scheduling scheduling = thread.scheduling;
  const Credentials credentials = request.trace.credentials;
  return_memory(process, parts_.processes);
  process.devices().keep_memory(true);
  const pid_t old = process.native_pid();
  end_child(old);
  parts_.kernel.deliver_file_events(process.host_index());  // closing of descriptors by exec
  thread.finish_call();
  parts_.kernel.forget_waits(process);
  for (const int fd : inherited.closed) process.files().close(fd);
  process.replace(name, std::move(region), launched.pid);
  process.set_environment(request.environment);
  ProcessLifetimes::release_parent(process);
  begin(process, std::move(launched), std::move(patches), scheduling, credentials);
  return std::nullopt;
}

}  // namespace verbatim::supervisor

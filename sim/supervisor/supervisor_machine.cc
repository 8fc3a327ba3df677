// Effects of the machine on a run, which are no events of it. A program that is killed from outside, or for
// which the machine has no room, ends the run with Outcome::kMachine. A refusal that the program can notice,
// or a signal from outside, makes the run weak.
#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "sim/supervisor/supervisor_impl.h"
#include "verbs_shim/protocol/folder_view.h"
#include "verbs_shim/protocol/foreign_call.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::supervisor {

namespace {

// Signals raised by the processor, or by resource limits of the program.
bool is_own_fault(int signal) {
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGTRAP:
    case SIGSYS:
    case SIGXFSZ:
    case SIGXCPU:
      return true;
    default:
      return false;
  }
}

// No machine has an address space of this size: such a request fails everywhere.
constexpr std::int64_t kAddressSpace = 1ll << 46;

}  // namespace

void Supervisor::Impl::note_refusal_of_machine(Thread& thread) {
  Process& process = thread.process();
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  const std::int64_t error = slot.arguments[0], size = slot.arguments[1];
  const protocol::SystemCall& call = protocol::system_call(slot.number);
  slot.result = 0;
  slot.action = protocol::Action::kReturn;
  const auto is_free = [&](int resource) { return process.limits.of(resource).rlim_cur == RLIM_INFINITY; };
  const bool of_memory = slot.number == SYS_mmap;
  if (of_memory && (!is_free(RLIMIT_AS) || !is_free(RLIMIT_DATA) || size <= 0 || size >= kAddressSpace)) return;
  if (call.name == nullptr || error < 1 || error > 133) return;
  // The program has used all descriptors of its limit, and the machine refused a further one
  // for the shim's use.
  const bool to_number = slot.number == SYS_dup2 || slot.number == SYS_dup3;
  if (error == EMFILE && !to_number && process.lowest_free_number() < 0) return;
  const std::string what = size > 0 ? fmt::format(" of {} bytes", size) : "";
  warn(process, fmt::format("the machine refused {}{}: {}; the result depends on this machine", call.name, what,
                            strerrordesc_np(static_cast<int>(error))),
       true);
}

// Small allocations are not reported to the simulator. If the memory of a program that ends was this
// close to the machine's limit, one may have been refused, and the program may have behaved
// differently than elsewhere.
void Supervisor::Impl::note_memory_near_limit(Process& process) {
  constexpr std::uint64_t kSmall = 1 << 20;  // larger mappings are reported, see the shim's map_code()
  const auto limit_of = [&](int resource) {
    rlimit limit;
    const bool is_programs = process.limits.of(resource).rlim_cur != RLIM_INFINITY;
    return is_programs || getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 ? RLIM_INFINITY : limit.rlim_cur;
  };
  const std::pair<const char*, rlim_t> limits[] = {{"VmPeak:", limit_of(RLIMIT_AS)}, {"VmData:", limit_of(RLIMIT_DATA)}};
  if (limits[0].second == RLIM_INFINITY && limits[1].second == RLIM_INFINITY) return;
  std::ifstream status(fmt::format("/proc/{}/status", process.native_pid()));
  for (std::string line; std::getline(status, line);) {
    for (const auto& [name, limit] : limits) {
      if (!line.starts_with(name) || limit == RLIM_INFINITY) continue;
      const std::uint64_t used = std::strtoull(line.c_str() + std::strlen(name), nullptr, 10) * 1024;
      if (used + kSmall <= limit) continue;
      warn(process,
           fmt::format("had {} bytes of memory, of {} that the machine allows (ulimit -v, -d), so small pieces may have been "
                       "refused; the result depends on this machine", used, limit),
           true);
      return;
    }
  }
}

// Warned about once, with the first program.
void Supervisor::Impl::note_other_layout(Process& process) {
  if (has_room_for_layout() || warned_of_layout_) return;
  warned_of_layout_ = true;
  warn(process,
       "has its libraries at other addresses than on other machines, because of the limit on address space (ulimit -Hv)", true);
}

// brk is a passing call, which the simulator does not see. Seccomp filters are inherited: if the machine
// refuses brk to the simulator, it refuses it to every program.
void Supervisor::Impl::note_refused_heap(Process& process) {
  if (syscall(SYS_brk, 0) != -1) return;
  warn(process,
       fmt::format("the machine refuses brk: {}; memory is at other addresses than on other machines, and the result depends on this machine",
                   std::strerror(errno)),
       true);
}

// Creates the host's own folders, one of which the program is about to use.
void Supervisor::Impl::make_folders_of(Thread& thread) {
  protocol::ThreadSlot& slot = thread.process().region().slot(thread.slot());
  slot.number = SYS_mkdir;
  slot.arguments[0] = kernel_.paths_of(thread.process()).make_folders();
  slot.arguments[1] = 0;
  note_refusal_of_machine(thread);
}

// Ruleset of Landlock for programs of the host; -1 without --confine.
int Supervisor::Impl::ruleset_of(std::size_t host) {
  if (!options_.changes_only_in) return -1;
  auto found = confinements_.find(host);
  if (found == confinements_.end()) {
    std::vector<std::string> folders = *options_.changes_only_in;
    HostPaths& paths = kernel_.paths_of_host(host);
    paths.make_folders();  // a rule needs an existing folder
    if (FolderViews* const views = paths.views(); views != nullptr) {
      views->make_roots();
      for (std::string& folder : folders) {
        if (const std::string copy = views->copy_of(folder); !copy.empty()) folder = copy;
      }
    }
    for (const RunFolder::Host& known : folder_->hosts()) {
      if (known.name == hosts_[host].name) folders.push_back(known.folder);
    }
    found = confinements_.try_emplace(host, std::move(folders)).first;
    paths.confine(found->second);
  }
  return found->second.ruleset();
}

// Paths in views of working folders (verbs_shim/protocol/folder_view.h).
void Supervisor::Impl::answer_about_view(Thread& thread, protocol::ThreadSlot& slot) {
  Process& process = thread.process();
  const Kernel::OwnFileWork own_work(kernel_, process.host_index());
  const std::span<std::byte> mailbox = process.region().mailbox(thread.slot());
  FolderViews* const views = kernel_.paths_of(process).views();
  slot.action = protocol::Action::kReturn;
  slot.result = 0;
  const auto step = static_cast<protocol::ViewStep>(slot.arguments[0]);
  const char* const text = reinterpret_cast<const char*>(mailbox.data());
  const std::string path(text, ::strnlen(text, protocol::kPathRoom - 1));
  if (step == protocol::ViewStep::kWritten) return warn_of_other_run(path);
  slot.result = -EINVAL;
  if (views == nullptr) return;
  switch (step) {
    case protocol::ViewStep::kPrepare: {
      const FolderViews::Prepared prepared = views->prepare(path, slot.arguments[1]);
      slot.result = prepared.error != 0 ? -prepared.error : prepared.path == path ? protocol::kUseCopy : protocol::kUseOriginal;
      std::memcpy(mailbox.data(), prepared.path.c_str(), std::min<std::size_t>(prepared.path.size() + 1, protocol::kPathRoom));
      return;
    }
    case protocol::ViewStep::kMade:
    case protocol::ViewStep::kListed: {
      protocol::FileNumber file;
      std::memcpy(&file, mailbox.data(), sizeof file);
      step == protocol::ViewStep::kMade ? views->note_made(file.device, file.inode) : views->note_listed(file.device, file.inode);
      slot.result = 0;
      return;
    }
    case protocol::ViewStep::kLook: {
      const auto count = static_cast<std::uint64_t>(slot.arguments[1]);
      if (count > mailbox.size() / sizeof(protocol::ViewedFile)) return;
      for (std::uint64_t i = 0; i < count; ++i) {
        protocol::ViewedFile file;
        std::byte* const at = mailbox.data() + i * sizeof file;
        std::memcpy(&file, at, sizeof file);
        views->look(file);
        std::memcpy(at, &file, sizeof file);
      }
      slot.result = 0;
      return;
    }
    case protocol::ViewStep::kWritten:
      return;
  }
}

// The warning depends on the machine and is no part of the trace.
void Supervisor::Impl::warn_of_other_run(const std::string& folder) {
  const pid_t other = folder_->other_run_in(folder);
  if (other == 0 || !met_other_run_in_.insert(folder).second) return;
  const std::string sentence = fmt::format(
      "programs of this run write to {}, where another run (process {}) works at the same time: each may find the other's files; start "
      "one of them in another folder", folder, other);
  spdlog::warn("{}", sentence);
  result_.warnings.push_back(sentence);
}

// Generates the inotify events of an exec as Linux does: each file is opened and its beginning read, and
// scripts (all files but the last) are closed.
void Supervisor::Impl::show_execution(std::size_t host, const std::vector<std::string>& files) {
  if (!kernel_.watches_files(host)) return;
  for (const std::string& path : files) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    char beginning[256];
    const bool is_read = read(fd, beginning, sizeof beginning) >= 0;
    kernel_.fetch_file_events(host);
    if (fd >= 0) close(fd);
    kernel_.fetch_file_events(host, is_read && &path == &files.back());
  }
}

// Request::kFault.
void Supervisor::Impl::warn_of_fault(Process& process, Thread& thread) {
  const auto& a = thread.call().arguments;
  if (a[2] == 0) {
    warn(process, fmt::format("died of signal {} ({}) at address {:#x}", a[0], strsignal(static_cast<int>(a[0])), a[1]));
    return;
  }
  const auto architecture = static_cast<std::uint32_t>(a[2]);
  const auto number = static_cast<std::int32_t>(a[3]);
  warn(process, fmt::format("thread {} made {}, at address {:#x}: {}, and the program was ended", thread.tid(),
                            protocol::text_of_foreign_call(architecture, number).text, a[1],
                            protocol::reason_of_foreign_call(architecture, number)));
}

namespace {

// Whether the program has overwritten the header of its region; the signal fields there are not valid.
bool has_overwritten_header(Process& process) {
  const protocol::RegionHeader& header = process.region().header();
  return header.magic != protocol::kMagic || header.version != protocol::kVersion ||
         header.region_header_size != sizeof header || header.virtual_pid != process.pid();
}

}  // namespace

void Supervisor::Impl::note_outside_signals(Process& process) {
  if (process.region().header().outside_signals.load(std::memory_order_relaxed) == 0 || has_overwritten_header(process)) return;
  const std::uint64_t set = process.region().header().outside_signals.exchange(0, std::memory_order_relaxed);
  for (int signal = 1; signal <= 64; ++signal) {
    if ((set >> (signal - 1) & 1) == 0) continue;
    warn(process, fmt::format("signal {} ({}) came from outside of the simulation; the program did not get it", signal,
                              strsignal(signal)),
         true);
  }
}

// Checks that the wait status of an ended process has a cause in the simulation.
void Supervisor::Impl::check_end_was_simulated(Process& process, int status) {
  if (finished_ || process.ended_by_us || !WIFSIGNALED(status)) return;
  const int signal = WTERMSIG(status);
  if (has_overwritten_header(process)) {
    return warn(process, fmt::format("overwrote the memory that it shares with the simulator, and ended by signal {} ({})", signal,
                                     strsignal(signal)));
  }
  const std::uint64_t sent = process.region().header().sent_signals.load(std::memory_order_relaxed);
  if (is_own_fault(signal) || (signal != SIGKILL && (sent >> (signal - 1) & 1) != 0)) return;
  finish(Outcome::kMachine,
         fmt::format("{} was ended by signal {} ({}), which no simulated process has sent: {}", title(process), signal,
                     strsignal(signal),
                     signal == SIGKILL ? "somebody outside, or the machine's kernel, which was short of memory (see dmesg)"
                                       : "somebody outside"));
}

// Ends one process that has ended while none of its threads was to run; false: there is none.
bool Supervisor::Impl::ended_from_outside() {
  for (const auto& process : processes_) {
    siginfo_t info{};
    const bool ended = process->alive && waitid(P_PID, static_cast<id_t>(process->native_pid()), &info,
                                                WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    if (!ended) continue;
    end(*process);
    return true;
  }
  return false;
}

}  // namespace verbatim::supervisor

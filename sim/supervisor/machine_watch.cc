#include "sim/supervisor/machine_watch.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "sim/supervisor/machine/launcher.h"
#include "sim/supervisor/process_list.h"
#include "sim/supervisor/run_report.h"
#include "sim/supervisor/tasks/process.h"
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

void MachineWatch::note_refusal(Process& process, const request::MachineRefusal& refusal) {
  const auto [number, error, size] = refusal;
  const protocol::SystemCall& call = protocol::system_call(number);
  const auto is_free = [&](int resource) { return process.limits.of(resource).rlim_cur == RLIM_INFINITY; };
  const bool of_memory = number == SYS_mmap;
  if (of_memory && (!is_free(RLIMIT_AS) || !is_free(RLIMIT_DATA) || size <= 0 || size >= kAddressSpace))
    return;
  if (call.name == nullptr || error < 1 || error > 133) return;
  // The program has used all descriptors of its limit, and the machine refused a further one
  // for the shim's use.
  const bool to_number = number == SYS_dup2 || number == SYS_dup3;
  if (error == EMFILE && !to_number && process.files().lowest_free_number() < 0) return;
  const std::string what = size > 0 ? fmt::format(" of {} bytes", size) : "";
  report_.warn(process,
               fmt::format("the machine refused {}{}: {}; the result depends on this machine", call.name,
                           what, strerrordesc_np(static_cast<int>(error))),
               true);
}

void MachineWatch::note_memory_near_limit(Process& process) {
  constexpr std::uint64_t kSmall = 1 << 20;  // larger mappings are reported, see the shim's map_code()
  const auto limit_of = [&](int resource) {
    rlimit limit;
    const bool is_programs = process.limits.of(resource).rlim_cur != RLIM_INFINITY;
    return is_programs || getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 ? RLIM_INFINITY
                                                                                           : limit.rlim_cur;
  };
  const std::pair<const char*, rlim_t> limits[] = {{"VmPeak:", limit_of(RLIMIT_AS)},
                                                   {"VmData:", limit_of(RLIMIT_DATA)}};
  if (limits[0].second == RLIM_INFINITY && limits[1].second == RLIM_INFINITY) return;
  std::ifstream status(fmt::format("/proc/{}/status", process.native_pid()));
  for (std::string line; std::getline(status, line);) {
    for (const auto& [name, limit] : limits) {
      if (!line.starts_with(name) || limit == RLIM_INFINITY) continue;
      const std::uint64_t used = std::strtoull(line.c_str() + std::strlen(name), nullptr, 10) * 1024;
      if (used + kSmall <= limit) continue;
      report_.warn(
          process,
          fmt::format(
              "had {} bytes of memory, of {} that the machine allows (ulimit -v, -d), so small pieces may have been "
              "refused; the result depends on this machine",
              used, limit),
          true);
      return;
    }
  }
}

// Warned about once, with the first program.
void MachineWatch::note_other_layout(Process& process) {
  if (has_room_for_layout() || warned_of_layout_) return;
  warned_of_layout_ = true;
  report_.warn(
      process,
      "has its libraries at other addresses than on other machines, because of the limit on address space (ulimit -Hv)",
      true);
}

// brk is a passing call, which the simulator does not see. Seccomp filters are inherited: if the machine
// refuses brk to the simulator, it refuses it to every program.
void MachineWatch::note_refused_heap(Process& process) {
  if (syscall(SYS_brk, 0) != -1) return;
  report_.warn(
      process,
      fmt::format(
          "the machine refuses brk: {}; memory is at other addresses than on other machines, and the result "
          "depends on this machine",
          std::strerror(errno)),
      true);
}

void MachineWatch::warn_of_fault(Thread& thread, const request::Fault& fault) {
  Process& process = thread.process();
  if (fault.architecture == 0) {
    const std::string cause = fault.is_sent ? ", which a program sent" : fmt::format(" at address {:#x}", fault.address);
    report_.warn(process, fmt::format("died of signal {} ({}){}", fault.signal, strsignal(static_cast<int>(fault.signal)), cause));
    return;
  }
  report_.warn(
      process,
      fmt::format("thread {} made {}, at address {:#x}: {}, and the program was ended", thread.tid(),
                  protocol::text_of_foreign_call(fault.architecture, fault.number).text, fault.address,
                  protocol::reason_of_foreign_call(fault.architecture, fault.number)));
}

namespace {

// Whether the program has overwritten the header of its region; the signal fields there are not valid.
bool has_overwritten_header(Process& process) {
  const protocol::RegionHeader& header = process.region().header();
  return header.magic != protocol::kMagic || header.version != protocol::kVersion ||
         header.region_header_size != sizeof header || header.virtual_pid != process.pid();
}

}  // namespace

void MachineWatch::note_outside_signals(Process& process) {
  if (process.region().header().outside_signals.load(std::memory_order_relaxed) == 0 ||
      has_overwritten_header(process))
    return;
  const std::uint64_t set = process.region().header().outside_signals.exchange(0, std::memory_order_relaxed);
  for (int signal = 1; signal <= 64; ++signal) {
    if ((set >> (signal - 1) & 1) == 0) continue;
    report_.warn(process,
                 fmt::format("signal {} ({}) came from outside of the simulation; the program did not get it",
                             signal, strsignal(signal)),
                 true);
  }
}

void MachineWatch::check_end_was_simulated(Process& process, int status) {
  if (report_.is_finished() || process.ended_by_us || !WIFSIGNALED(status)) return;
  const int signal = WTERMSIG(status);
  if (has_overwritten_header(process)) {
    return report_.warn(
        process,
        fmt::format("overwrote the memory that it shares with the simulator, and ended by signal {} ({})",
                    signal, strsignal(signal)));
  }
  const std::uint64_t sent = process.region().header().sent_signals.load(std::memory_order_relaxed);
  if (is_own_fault(signal) || (signal != SIGKILL && (sent >> (signal - 1) & 1) != 0)) return;
  report_.finish(
      Outcome::kMachine,
      fmt::format("{} was ended by signal {} ({}), which no simulated process has sent: {}",
                  report_.title(process), signal, strsignal(signal),
                  signal == SIGKILL
                      ? "somebody outside, or the machine's kernel, which was short of memory (see dmesg)"
                      : "somebody outside"));
}

// A program whose loader did not find a library ends with 127 before the shim's constructor. One that ended
// otherwise before it has run outside the simulation.
void MachineWatch::check_ran_in_simulation(const Process& process) {
  constexpr int kLoaderFailed = 127;
  const int status = process.exit_status;
  if (process.attached || report_.is_finished() || !WIFEXITED(status) || WEXITSTATUS(status) == kLoaderFailed)
    return;
  report_.finish(Outcome::kStuck,
                 report_.title(process) + " ran outside the simulation: its loader did not preload the shim");
}

Process* MachineWatch::ended_from_outside(const ProcessList& processes) {
  for (const auto& process : processes.all()) {
    siginfo_t info{};
    const bool ended =
        process->alive &&
        waitid(P_PID, static_cast<id_t>(process->native_pid()), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid != 0;
    if (ended) return process.get();
  }
  return nullptr;
}

}  // namespace verbatim::supervisor

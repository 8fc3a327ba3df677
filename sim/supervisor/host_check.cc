// Table of `verbatim check --host`: facilities that a run needs of the machine or container, whether each
// works, and the consequence if it does not.
#include <fmt/format.h>

#include <cstring>

#include "sim/supervisor/code/processor.h"
#include "sim/supervisor/machine/host_probes.h"
#include "sim/supervisor/machine/limit_check.h"
#include "sim/supervisor/supervisor.h"

namespace verbatim::supervisor {

namespace {

using State = Facility::State;

// Result of a probe that was skipped: every probe runs in a child, and wait4 does not report
// the end of children.
constexpr int kNotTried = 253;

std::string why(int result) {
  if (result == kNotTried) return "it cannot be tried: wait4 does not report the end of a child";
  if (result == kKilled) return "the attempt was killed";
  if (result == kNoEffect) return "it is accepted and has no effect";
  return std::strerror(result);
}

// Facility with a substitute. `member`: the flag that makes the supervisor use the substitute.
struct Replaceable {
  const char* name;
  const char* what;
  bool MachineFacilities::*member;
  int (*probe)();
  const char* second_way;
  // Probe of the substitute and advice if it fails too; nullptr: the substitute always works.
  int (*second_probe)() = nullptr;
  const char* advice = "";
};

constexpr Replaceable kReplaceable[] = {
    {"tsc-trap", "the time stamp counter stops a program (PR_SET_TSC)", &MachineFacilities::timestamp_counter_trap,
     probe_timestamp_counter_trap,
     "its instructions are replaced in memory all the same; runs whose code cannot be searched are marked weak"},
    {"jumps", "memory near code is free for the answers of replaced instructions", &MachineFacilities::jumps,
     [] { return probe_addresses(true); }, "replaced instructions and all system calls trap; each costs a signal"},
    {"call-traps", "system calls may trap until they have proved to be frequent", &MachineFacilities::call_traps,
     probe_system_call_traps, "each is replaced when it has trapped once; programs start more slowly"},
    {"loader-stop", "the loader's call that maps memory is known", &MachineFacilities::loader_breakpoints, probe_loader,
     "every system call of the loader is looked at; programs start more slowly"},
    {"overcommit", "64 GiB can be reserved and not used", &MachineFacilities::overcommit, probe_reservation,
     "the shim's heap holds 256 MiB"},
    {"layout", "address-space randomisation can be switched off (personality)", &MachineFacilities::fixed_layout, probe_layout,
     "programs are moved to their addresses before they start", probe_moves,
     "nor can programs be moved (mremap, PR_SET_MM_MAP): permit personality(ADDR_NO_RANDOMIZE) in the container's seccomp "
     "profile, take a kernel with CONFIG_CHECKPOINT_RESTORE, and limit no address space (ulimit -Hv)"},
    {"process-vm", "a child's memory can be read and written (process_vm_readv)", &MachineFacilities::memory_calls,
     probe_memory_calls, "it is read and written through /proc/PID/mem; each access costs more", probe_memory_file,
     "set kernel.yama.ptrace_scope to 0 or 1, and permit process_vm_readv in the container's seccomp profile"},
    {"pidfd", "a child's descriptors can be taken (pidfd_getfd)", &MachineFacilities::descriptor_copies, probe_descriptors,
     "programs are stopped for a moment and send what they hand on by exec and over sockets"},
    {"vdso", "the vDSO can be taken out of a program", &MachineFacilities::removable_vdso, probe_vdso,
     "the auxiliary vector of programs does not have its address"},
};

struct Required {
  const char* name;
  const char* what;
  int (*probe)();
  const char* advice;
};

constexpr Required kRequired[] = {
    {"wait", "the end of a child is reported (wait4)", probe_waiting, "in a container permit wait4 in the seccomp profile"},
    {"addresses", "the fixed addresses of the shim are free", [] { return probe_addresses(false); },
     "run on x86-64 Linux with 47 bits of address space, not under emulation; raise the limit on address space "
     "(ulimit -v)"},
    {"ptrace", "a child stops at exec, and makes system calls for the simulator (ptrace)", probe_tracing,
     "in a container add the capability SYS_PTRACE or a seccomp profile that permits ptrace"},
    {"close-range", "ranges of descriptors can be closed (close_range)", probe_close_range,
     "the kernel must be 5.11 or later, and an older container engine must not refuse what it does not know"},
    {"passage", "descriptors can be handed on (socketpair)", probe_passage, "permit socketpair with AF_UNIX"},
    {"code-patches", "a child's code can be replaced (/proc/PID/mem)", probe_code_patches,
     "the kernel must not restrict writes through /proc/PID/mem (proc_mem.force_override=always)"},
    {"sigsys", "system calls arrive as signals with their registers (seccomp)", probe_system_call_traps,
     "the kernel needs CONFIG_SECCOMP_FILTER, and the container must permit the seccomp call"},
    {"faults", "privileged instructions arrive as signals with their registers", probe_instruction_faults,
     "run on x86-64 Linux itself, not under emulation"},
    {"futex", "a process wakes another (futex)", probe_futex, "run on Linux itself, not under emulation"},
    {"memfd", "shared memory of 4 GiB can be made (memfd_create)", probe_shared_memory,
     "raise the limits on address space and file size (ulimit -v, ulimit -f)"},
    {"heap", "a program's data segment can grow (brk)", probe_break,
     "in a container permit brk in the seccomp profile; without it memory has other addresses, and the digest differs"},
    {"clock", "the machine's clock advances", probe_clock, "the machine or its clock is stopped"},
    {"proc", "/proc shows processes", probe_proc, "mount /proc, without hidepid"},
};

}  // namespace

std::vector<std::string> MachineFacilities::replaceable() {
  std::vector<std::string> names;
  for (const Replaceable& one : kReplaceable) names.push_back(one.name);
  return names;
}

bool MachineFacilities::assume_missing(std::string_view name) {
  for (const Replaceable& one : kReplaceable) {
    if (name != one.name) continue;
    this->*one.member = false;
    return true;
  }
  return false;
}

std::vector<Facility> Supervisor::check_host(const MachineFacilities& assumed) {
  std::vector<Facility> table;
  bool reports_ends = true;
  for (const Required& one : kRequired) {
    const int result = reports_ends ? one.probe() : kNotTried;
    if (one.probe == probe_waiting) reports_ends = result == 0;
    table.push_back({one.name, one.what, result == 0 ? State::kWorks : State::kMissing,
                     result == 0           ? ""
                     : result == kNotTried ? why(result)
                                           : why(result) + "; " + one.advice});
  }
  for (Facility& limit : check_limits()) table.push_back(std::move(limit));
  for (const code::InstructionSet set : {code::InstructionSet::kX86_64V2, code::InstructionSet::kX86_64V3}) {
    std::string lacking;
    for (const std::string& name : code::lacking_here(set)) lacking += " " + name;
    const bool is_default = set == code::InstructionSet::kX86_64V2;
    table.push_back({code::name_of(set),
                     is_default ? "the processor has what programs are shown by default"
                                : "and what \"instruction_set\" in a processor profile can ask for",
                     lacking.empty() ? State::kWorks : is_default ? State::kMissing : State::kOtherMeans,
                     lacking.empty() ? "" : "it lacks" + lacking + (is_default ? "" : "; leave it at x86-64-v2")});
  }
  for (const Replaceable& one : kReplaceable) {
    const bool is_assumed = !(assumed.*one.member);
    const int result = is_assumed ? 0 : reports_ends ? one.probe() : kNotTried;
    if (reports_ends && (is_assumed || result != 0) && one.second_probe != nullptr) {
      if (const int second = one.second_probe(); second != 0) {
        table.push_back({one.name, one.what, State::kMissing, why(is_assumed ? second : result) + "; " + one.advice});
        continue;
      }
    }
    table.push_back({one.name, one.what, !is_assumed && result == 0 ? State::kWorks : State::kOtherMeans,
                     !is_assumed && result == 0 ? ""
                                                : (is_assumed ? "assumed to be missing" : why(result)) + "; " +
                                                      one.second_way});
  }
  return table;
}

}  // namespace verbatim::supervisor

// System calls that the shim makes itself. They enter the kernel from one page, the gate (runtime/gate.h),
// and the seccomp filter lets a call from there pass only if this table allows it. A program that jumps into
// the gate can therefore make these calls and no others. The filter and the list in tests/process/TABLES.md
// are generated from this table.
//
// Calls that the shim makes on behalf of the program, on real files and on the process's own memory, are
// allowed by their class (system_calls.h); kGateClasses states why. All others have a row in kGateCalls, as
// have calls of these classes of which the shim uses some argument values only.
#pragma once

#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstdint>

#include "verbs_shim/protocol/process_control.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim::protocol {

// Not a check (checks.h): calls that the table refuses with ENOSYS are passed to the kernel (--strict=warn).
inline constexpr std::uint32_t kLetsUnknownCalls = 1u << 29;

inline constexpr unsigned kMostGateValues = 16;

// Condition on one argument under which the call passes.
enum class GateRule : std::uint8_t {
  kAny,
  kOneOf,   // one of `values`
  kHasBits,  // at least one bit of values[0] and none of values[1]
};

struct GateCall {
  std::uint16_t number;
  const char* reason;
  GateRule rule = GateRule::kAny;
  std::int8_t argument = 0;
  std::uint8_t count = 0;
  std::uint32_t values[kMostGateValues] = {};
};

struct GateClass {
  CallClass call_class;
  const char* reason;
};

inline constexpr GateClass kGateClasses[] = {
    {CallClass::kPassing, "pass from everywhere in the program; the shim makes some of them for its own memory"},
    {CallClass::kByArgument, "the process's own memory and the bases of its threads' segments"},
    {CallClass::kByDescriptor, "the program's real files"},
    {CallClass::kByPath, "the program's real files, by names that the shim has resolved"},
    {CallClass::kByProtection, "the process's own memory"},
};

inline constexpr std::uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                                CLONE_NEWPID | CLONE_NEWNET | 0x80;  // CLONE_NEWTIME

inline constexpr GateCall kGateCalls[] = {
    {SYS_open, "real files, by names that the shim has resolved"},
    {SYS_openat, "the same"},
    {SYS_creat, "the same"},
    {SYS_openat2, "what a name without symbolic links leads to"},
    {SYS_getcwd, "the folder the program works in, if it is a real one"},
    {SYS_fcntl, "real files: locks, flags and copies of descriptors; nothing that sends signals", GateRule::kOneOf, 1, 16,
     {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK,
      F_OFD_SETLKW, F_ADD_SEALS, F_GET_SEALS, F_SETPIPE_SZ, F_GETPIPE_SZ}},
    {SYS_ioctl, "real files: flags of the descriptor and bytes that are left; no device", GateRule::kOneOf, 1, 4,
     {FIOCLEX, FIONCLEX, FIONBIO, FIONREAD}},
    {SYS_dup, "numbers of real files"},
    {SYS_dup2, "numbers of real files"},
    {SYS_dup3, "numbers of real files, and placeholders at those of simulated ones"},
    {SYS_close_range, "numbers of real files; the shim's own are left out"},
    {SYS_sendfile, "bytes from one real file to another"},
    {SYS_memfd_create, "files in memory, and the region of a copy of the process"},
    {SYS_sendmsg, "a real file that goes to another program leaves through the passage, a socket of the shim's"},
    {SYS_recvmsg, "a real file from another program arrives through the passage"},
    {SYS_getrlimit, "limits of the process itself, while the shim makes a descriptor or a region"},
    {SYS_setrlimit, "the same"},
    {SYS_getgroups, "the rights by which a real file is named"},
    {SYS_setgroups, "the same: to fewer rights, and back"},
    {SYS_setfsuid, "the same"},
    {SYS_setfsgid, "the same"},
    {SYS_rt_sigaction, "handlers of the process itself"},
    {SYS_rt_sigprocmask, "masks of its threads"},
    {SYS_rt_sigreturn, "the shim's handlers return by it"},
    {SYS_rt_sigpending, "signals that wait for the thread"},
    {SYS_rt_sigsuspend, "handlers run that are due"},
    {SYS_rt_sigtimedwait, "signals are taken without a handler"},
    {SYS_sigaltstack, "stack of the shim's handlers"},
    {SYS_rt_sigqueueinfo, "signals that the simulation sends to the process, which the process sends itself"},
    {SYS_rt_tgsigqueueinfo, "the same, to the thread"},
    {SYS_tgkill, "the thread ends itself with the signal it dies of"},
    {SYS_getpid, "the process's and the thread's real numbers, for these calls"},
    {SYS_gettid, "the same"},
    {SYS_getppid, "whether the simulator still lives, before a copy begins"},
    {SYS_futex, "waiting for the token, and handing it over"},
    {SYS_sched_yield, "waiting for the token for a short time"},
    {SYS_timer_create, "a timer by which a thread interrupts its own loop"},
    {SYS_timer_settime, "the same"},
    {SYS_clock_gettime, "how old a file's times are, and how long huge pages take to make"},
    {SYS_mincore, "how much of the stack has been used before the program begins"},
    {SYS_sysinfo, "whether the machine has memory for huge pages"},
    {SYS_prctl, "names of threads, the signal of the simulator's end, reads of the time-stamp counter that trap",
     GateRule::kOneOf, 0, 6,
     {PR_SET_NAME, PR_GET_NAME, PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_TSC, PR_GET_TID_ADDRESS}},
    {SYS_seccomp, "a further filter, which only ever forbids more", GateRule::kOneOf, 0, 1, {SECCOMP_SET_MODE_FILTER}},
    {SYS_clone, "threads, and copies of the process as children of the simulator; no namespaces", GateRule::kHasBits, 0, 2,
     {CLONE_THREAD | CLONE_PARENT, kNewNamespaces}},
    {SYS_get_robust_list, "what the C library has set for the first thread, for a copy"},
    {SYS_setsid, "a copy begins as a session of its own"},
    {SYS_exit, "a thread ends"},
    {SYS_exit_group, "the process ends"},
};

// nullptr: no row.
constexpr const GateCall* gate_call(std::uint64_t number) {
  for (const GateCall& call : kGateCalls) {
    if (call.number == number) return &call;
  }
  return nullptr;
}

// `lets_unknown_calls`: kLetsUnknownCalls is set.
constexpr bool gate_allows(std::uint64_t number, bool lets_unknown_calls) {
  if (gate_call(number) != nullptr) return true;
  const SystemCall& call = system_call(number);
  for (const GateClass& allowed : kGateClasses) {
    if (call.call_class == allowed.call_class) return true;
  }
  return lets_unknown_calls && call.name != nullptr && call.call_class == CallClass::kRefused && call.refusal == ENOSYS;
}

}  // namespace verbatim::protocol

// prctl(2): the result of each option. Options that the table lacks fail with EINVAL, and are logged by name.
#pragma once

#include <errno.h>
#include <sys/prctl.h>

#include <cstdint>

namespace verbatim::protocol {

enum class ControlKind : std::uint8_t {
  kKernel,       // passed to the kernel: the thread's own name
  kCredentials,  // answered by the supervisor (sim/supervisor/spec/credentials.h)
  kRelatives,    // answered by the supervisor: about parent and descendants (sim/supervisor/tasks/family.h)
  kFixed,        // `value`, which may be -errno, for all arguments
  kSetting,      // stored without effect; arguments from 0 to `value` - 1 are valid, all if it is negative
  kStored,       // the value stored by kSetting for option `value`; `first` before that
};

struct ControlOption {
  int option;
  const char* name;
  ControlKind kind;
  int value = 0;
  long first = 0;
  int unused_from = 6;  // index of the first argument that must be 0
};

inline constexpr int kControlAuxiliaryVector = 0x41555856;  // PR_GET_AUXV, missing from some headers
inline constexpr int kControlMdwe = 65, kControlMemoryMerge = 67;
inline constexpr long kUsualSlackNs = 50'000;

// clang-format off
inline constexpr ControlOption kControlOptions[] = {
    {PR_SET_PDEATHSIG, "PR_SET_PDEATHSIG", ControlKind::kRelatives},  // the shim's own setting stays in force
    {PR_GET_PDEATHSIG, "PR_GET_PDEATHSIG", ControlKind::kRelatives},
    {PR_GET_DUMPABLE, "PR_GET_DUMPABLE", ControlKind::kStored, PR_SET_DUMPABLE, 1},
    {PR_SET_DUMPABLE, "PR_SET_DUMPABLE", ControlKind::kSetting, 2},  // the adapter's DMA needs the process readable
    {PR_GET_UNALIGN, "PR_GET_UNALIGN", ControlKind::kFixed, -EINVAL},
    {PR_SET_UNALIGN, "PR_SET_UNALIGN", ControlKind::kFixed, -EINVAL},
    {PR_GET_KEEPCAPS, "PR_GET_KEEPCAPS", ControlKind::kCredentials},
    {PR_SET_KEEPCAPS, "PR_SET_KEEPCAPS", ControlKind::kCredentials},
    {PR_GET_FPEMU, "PR_GET_FPEMU", ControlKind::kFixed, -EINVAL},
    {PR_SET_FPEMU, "PR_SET_FPEMU", ControlKind::kFixed, -EINVAL},
    {PR_GET_FPEXC, "PR_GET_FPEXC", ControlKind::kFixed, -EINVAL},
    {PR_SET_FPEXC, "PR_SET_FPEXC", ControlKind::kFixed, -EINVAL},
    {PR_GET_TIMING, "PR_GET_TIMING", ControlKind::kFixed, PR_TIMING_STATISTICAL},
    {PR_SET_TIMING, "PR_SET_TIMING", ControlKind::kSetting, 1},
    {PR_SET_NAME, "PR_SET_NAME", ControlKind::kKernel},
    {PR_GET_NAME, "PR_GET_NAME", ControlKind::kKernel},
    {PR_GET_ENDIAN, "PR_GET_ENDIAN", ControlKind::kFixed, -EINVAL},
    {PR_SET_ENDIAN, "PR_SET_ENDIAN", ControlKind::kFixed, -EINVAL},
    {PR_GET_SECCOMP, "PR_GET_SECCOMP", ControlKind::kFixed, 0},
    {PR_SET_SECCOMP, "PR_SET_SECCOMP", ControlKind::kFixed, -EINVAL},
    {PR_CAPBSET_READ, "PR_CAPBSET_READ", ControlKind::kCredentials},
    {PR_CAPBSET_DROP, "PR_CAPBSET_DROP", ControlKind::kCredentials},
    {PR_GET_TSC, "PR_GET_TSC", ControlKind::kStored, PR_SET_TSC, PR_TSC_ENABLE},
    {PR_SET_TSC, "PR_SET_TSC", ControlKind::kFixed, -EINVAL},  // counters are virtual already
    {PR_GET_SECUREBITS, "PR_GET_SECUREBITS", ControlKind::kCredentials},
    {PR_SET_SECUREBITS, "PR_SET_SECUREBITS", ControlKind::kCredentials},
    {PR_SET_TIMERSLACK, "PR_SET_TIMERSLACK", ControlKind::kSetting, -1},
    {PR_GET_TIMERSLACK, "PR_GET_TIMERSLACK", ControlKind::kStored, PR_SET_TIMERSLACK, kUsualSlackNs},
    {PR_TASK_PERF_EVENTS_DISABLE, "PR_TASK_PERF_EVENTS_DISABLE", ControlKind::kFixed, 0},
    {PR_TASK_PERF_EVENTS_ENABLE, "PR_TASK_PERF_EVENTS_ENABLE", ControlKind::kFixed, 0},
    {PR_MCE_KILL, "PR_MCE_KILL", ControlKind::kSetting, 2},
    {PR_MCE_KILL_GET, "PR_MCE_KILL_GET", ControlKind::kFixed, PR_MCE_KILL_DEFAULT},
    {PR_SET_MM, "PR_SET_MM", ControlKind::kFixed, -EPERM},
    {PR_SET_CHILD_SUBREAPER, "PR_SET_CHILD_SUBREAPER", ControlKind::kRelatives},
    {PR_GET_CHILD_SUBREAPER, "PR_GET_CHILD_SUBREAPER", ControlKind::kRelatives},
    {PR_SET_NO_NEW_PRIVS, "PR_SET_NO_NEW_PRIVS", ControlKind::kFixed, 0, 0, 2},
    {PR_GET_NO_NEW_PRIVS, "PR_GET_NO_NEW_PRIVS", ControlKind::kFixed, 1, 0, 1},  // as for every simulated program
    {PR_GET_TID_ADDRESS, "PR_GET_TID_ADDRESS", ControlKind::kFixed, -EINVAL},
    {PR_SET_THP_DISABLE, "PR_SET_THP_DISABLE", ControlKind::kSetting, -1, 0, 2},
    {PR_GET_THP_DISABLE, "PR_GET_THP_DISABLE", ControlKind::kStored, PR_SET_THP_DISABLE, 0, 1},
    {PR_SET_FP_MODE, "PR_SET_FP_MODE", ControlKind::kFixed, -EINVAL},
    {PR_GET_FP_MODE, "PR_GET_FP_MODE", ControlKind::kFixed, -EINVAL},
    {PR_CAP_AMBIENT, "PR_CAP_AMBIENT", ControlKind::kCredentials},
    {PR_SVE_SET_VL, "PR_SVE_SET_VL", ControlKind::kFixed, -EINVAL},
    {PR_SVE_GET_VL, "PR_SVE_GET_VL", ControlKind::kFixed, -EINVAL},
    {PR_GET_SPECULATION_CTRL, "PR_GET_SPECULATION_CTRL", ControlKind::kFixed, PR_SPEC_NOT_AFFECTED, 0, 2},
    {PR_SET_SPECULATION_CTRL, "PR_SET_SPECULATION_CTRL", ControlKind::kFixed, -ENXIO},
    {PR_SET_IO_FLUSHER, "PR_SET_IO_FLUSHER", ControlKind::kFixed, -EPERM},
    {PR_GET_IO_FLUSHER, "PR_GET_IO_FLUSHER", ControlKind::kFixed, -EPERM},
    {kControlMdwe, "PR_SET_MDWE", ControlKind::kFixed, -EINVAL},
    {kControlMdwe + 1, "PR_GET_MDWE", ControlKind::kFixed, -EINVAL},
    {kControlMemoryMerge, "PR_SET_MEMORY_MERGE", ControlKind::kFixed, -EINVAL},
    {kControlMemoryMerge + 1, "PR_GET_MEMORY_MERGE", ControlKind::kFixed, -EINVAL},
    {kControlAuxiliaryVector, "PR_GET_AUXV", ControlKind::kFixed, -EINVAL},  // later kernels only
    {PR_SET_VMA, "PR_SET_VMA", ControlKind::kFixed, -EINVAL},  // as on a kernel without named mappings
    {PR_SET_PTRACER, "PR_SET_PTRACER", ControlKind::kFixed, 0},
};
// clang-format on

constexpr int control_index(long option) {
  int at = 0;
  for (const ControlOption& row : kControlOptions) {
    if (row.option == static_cast<int>(option)) return at;
    ++at;
  }
  return -1;
}

}  // namespace verbatim::protocol

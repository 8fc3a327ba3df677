// System calls that the machine's kernel gets from a program directly, never trapped, and why it may: no argument of theirs
// names a process, a thread, a user, a clock, a device or a path, and nothing that the machine decides comes back. Those of
// class kByArgument pass only with the values named here; the shim answers the others. The seccomp filter is made from this
// table, and so is the list in tests/process/TABLES.md.
#pragma once

#include <asm/prctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstdint>

namespace verbatim::protocol {

inline constexpr unsigned kMostPassingValues = 12;

struct PassingCall {
  std::uint16_t number;
  const char* reason;
  std::int8_t argument = -1;  // the one that decides, of class kByArgument
  std::uint8_t count = 0;
  std::uint32_t values[kMostPassingValues] = {};
};

inline constexpr PassingCall kPassingCalls[] = {
    {SYS_munmap, "the process's own memory; addresses of the shim's are refused, huge pages looked at"},
    {SYS_brk, "the process's own memory; what is refused shows as the mapping that malloc asks for next"},
    {SYS_mremap, "the process's own memory; addresses of the shim's are refused, huge pages looked at"},
    {SYS_msync, "the process's own memory; what is written back when does not show"},
    {SYS_madvise, "the process's own memory, with advice that has one outcome everywhere", 2, 12,
     {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, MADV_REMOVE, MADV_DONTFORK, MADV_DOFORK,
      MADV_DONTDUMP, MADV_DODUMP, MADV_WIPEONFORK, MADV_KEEPONFORK}},
    {SYS_umask, "of the process alone, and the launcher's at first"},
    {SYS_arch_prctl, "bases of the thread's segments", 0, 3, {ARCH_SET_GS, ARCH_GET_FS, ARCH_GET_GS}},
    {SYS_set_robust_list, "an address in the process's own memory; the list is followed by the supervisor"},
};

// nullptr: it does not pass.
constexpr const PassingCall* passing_call(std::uint64_t number) {
  for (const PassingCall& call : kPassingCalls) {
    if (call.number == number) return &call;
  }
  return nullptr;
}

// Mappings of this size and more are looked at: that the machine has no room for one is no event of the run.
inline constexpr std::uint32_t kLargeMapping = 1u << 20;

// kRefusedArgumentCall: an argument is refused by name. arguments: [0] number of the call, [1] the value, [2] errno,
// [3] 1: not for a value, but because it means memory that the shim has mapped for itself.

// kAttachedCall: the runtime has mapped a segment of shared memory. arguments: [0] its id, [1] where. Answered with the address.

}  // namespace verbatim::protocol

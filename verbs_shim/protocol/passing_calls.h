// System calls that the machine's kernel executes for a program directly, without a trap, with the reason for
// each: no argument names a process, thread, user, clock, device or path, and no result depends on the
// machine. A call of class kByArgument passes only with the values listed here; the shim answers the others.
// The seccomp filter and the list in tests/process/TABLES.md are generated from this table.
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
  std::int8_t argument = -1;  // index of the deciding argument, for class kByArgument
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

// nullptr: the call does not pass.
constexpr const PassingCall* passing_call(std::uint64_t number) {
  for (const PassingCall& call : kPassingCalls) {
    if (call.number == number) return &call;
  }
  return nullptr;
}

// Size in bytes from which mappings are checked: a refusal by the machine depends on the machine.
inline constexpr std::uint32_t kLargeMapping = 1u << 20;

// kRefusedArgumentCall: an argument is refused by name. arguments: [0] number of the call, [1] the value, [2] errno,
// [3] 1: refused because it addresses memory that the shim has mapped for itself.

// kAttachedCall: the runtime has mapped a shared memory segment. arguments: [0] its id, [1] its address,
// [2] kSlowHugePages if the process knows that the machine provides huge pages slowly (huge_pages.h), else 0. Returns
// the address.

}  // namespace verbatim::protocol

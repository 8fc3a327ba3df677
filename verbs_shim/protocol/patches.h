// Instructions whose result the machine would decide (time stamp counters, random numbers, what the processor is) are
// replaced in the memory of every simulated process, see sim/supervisor/code. What the replaced code and the shim need
// for answering them lies here, at kPatchDataAddress.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs_shim/protocol/layout.h"

namespace verbatim::protocol {

enum class DecidedInstruction : std::uint8_t {
  kNone = 0,
  kRdtsc,
  kRdtscp,
  kRdpru,
  kRdrand,
  kRdseed,
  kRdpid,
  kLsl,  // of a segment selector in a register: the processor's number is read this way
  kCpuid,
  kXgetbv,
  // A direct jump by which a loop that was found to wait goes back: the trap tells that it waits again.
  kLoopJump,
};

// In `source` of kLoopJump: it jumps always, or on the condition in `destination` (conditions.h).
enum LoopJumpKind : std::uint8_t { kJumpsAlways = 0, kJumpsOnCondition = 1 };

// One instruction in a word: what it is, and its operands.
struct PatchedInstruction {
  DecidedInstruction kind = DecidedInstruction::kNone;
  std::uint8_t destination = 0;  // general register in encoding order
  std::uint8_t source = 0;       // the same, of kLsl
  std::uint8_t size = 0;         // bytes of the destination: 2, 4 or 8
  std::uint8_t length = 0;       // bytes of code that the trapping instruction stands for; 0 … 15

  // Bit 31 is never set: the word is pushed by an instruction that extends its sign.
  constexpr std::uint32_t word() const {
    return static_cast<std::uint32_t>(kind) | std::uint32_t{destination} << 8 | std::uint32_t{source} << 12 |
           std::uint32_t{size} << 16 | std::uint32_t{length} << 20;
  }
  static constexpr PatchedInstruction of(std::uint32_t word) {
    return {static_cast<DecidedInstruction>(word & 255), static_cast<std::uint8_t>(word >> 8 & 15),
            static_cast<std::uint8_t>(word >> 12 & 15), static_cast<std::uint8_t>(word >> 16 & 15),
            static_cast<std::uint8_t>(word >> 20 & 15)};
  }
};

// An answer of CPUID. The code that reads the table is made by sim/supervisor/code/stub.cc.
struct CpuidEntry {
  std::uint32_t leaf;
  std::uint32_t subleaf;
  std::uint32_t flags;  // of CpuidFlags
  std::uint32_t eax, ebx, ecx, edx;
  std::uint32_t reserved;
};
inline constexpr std::uint32_t kAnySubleaf = 1;
inline constexpr std::uint32_t kLastCpuidEntry = 2;  // matches everything
static_assert(sizeof(CpuidEntry) == 32);

// Code at `address` traps (HLT) and stands for `instruction`.
struct TrapEntry {
  std::uint64_t address;
  std::uint32_t instruction;  // PatchedInstruction::word()
  std::uint32_t reserved;
};

inline constexpr std::uint32_t kMaxCpuidEntries = 48;
// A hash table with linear probing. It begins small, in the page that has the answers of CPUID, because most processes have
// few traps, and each page that is touched costs a process more than all of its traps do.
inline constexpr std::uint32_t kFewTrapEntries = 128, kTrapEntries = 4096;  // powers of two

struct PatchData {
  CpuidEntry cpuid[kMaxCpuidEntries];
  std::uint32_t has_many_traps;  // 0: the first kFewTrapEntries are the table; otherwise all of them
  alignas(64) TrapEntry traps[kTrapEntries];
};
static_assert(offsetof(PatchData, traps) + kFewTrapEntries * sizeof(TrapEntry) <= 4096);

constexpr std::uint32_t first_trap_slot(std::uint64_t address, std::uint32_t entries) {
  return static_cast<std::uint32_t>(address * 0x9e37'79b9'7f4a'7c15ull >> 32) & (entries - 1);
}

// The first page of a patch area: code in the area runs on a stack of its own and changes nothing of the program's. One
// thread of a process runs at a time, so an area needs one stack.
struct PatchAreaHeader {
  std::uint64_t saved_stack_pointer;
  std::uint64_t entry;       // of the shim; of the area's first instructions until the shim is there
  std::uint64_t call_entry;  // the same, of system calls, which use the thread's own stack
};

}  // namespace verbatim::protocol

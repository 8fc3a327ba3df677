// Instructions whose results depend on the machine (time-stamp counters, random numbers, processor
// identification) are replaced in the memory of every simulated process, see sim/supervisor/code. The data by
// which the replacement code and the shim emulate them is here, at kPatchDataAddress.
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
  kLsl,  // with a segment selector in a register: a method to read the processor's number
  kCpuid,
  kXgetbv,
  // The direct jump at the end of a loop that was found to wait: the trap reports the next iteration.
  kLoopJump,
};

// Whether 0f and these two bytes may be the opcode of one of these instructions. `third` is meaningless if the first
// function says yes.
constexpr bool is_decided_opcode(std::uint8_t second) { return second == 0x31 || second == 0xa2; }
constexpr bool is_decided_opcode(std::uint8_t second, std::uint8_t third) {
  if (is_decided_opcode(second)) return true;
  if (second == 0x01) return third == 0xf9 || third == 0xd0 || third == 0xfd;
  if (second == 0xc7) return (third & 0xc0) == 0xc0 && (third & 0x30) == 0x30;  // registers, /6 and /7
  return second == 0x03 && (third & 0xc0) == 0xc0;
}

// `source` of kLoopJump: unconditional, or on the condition in `destination` (conditions.h).
enum LoopJumpKind : std::uint8_t { kJumpsAlways = 0, kJumpsOnCondition = 1 };

// One instruction and its operands in a word.
struct PatchedInstruction {
  DecidedInstruction kind = DecidedInstruction::kNone;
  std::uint8_t destination = 0;  // general register in encoding order
  std::uint8_t source = 0;       // the same, for kLsl
  std::uint8_t size = 0;         // bytes of the destination: 2, 4 or 8
  std::uint8_t length = 0;       // bytes of the instruction that the trap replaces; 0 … 15

  // Bit 31 is never set, because the word is pushed by an instruction that sign-extends it.
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

// One result of CPUID. sim/supervisor/code/stub.cc generates the code that searches the table.
struct CpuidEntry {
  std::uint32_t leaf;
  std::uint32_t subleaf;
  std::uint32_t flags;  // mask of the constants below
  std::uint32_t eax, ebx, ecx, edx;
  std::uint32_t reserved;
};
inline constexpr std::uint32_t kAnySubleaf = 1;
inline constexpr std::uint32_t kLastCpuidEntry = 2;  // matches every leaf
static_assert(sizeof(CpuidEntry) == 32);

// Code at `address` traps (HLT) and replaces `instruction`.
struct TrapEntry {
  std::uint64_t address;
  std::uint32_t instruction;  // PatchedInstruction::word()
  std::uint32_t reserved;
};

inline constexpr std::uint32_t kMaxCpuidEntries = 48;
// Hash table with linear probing. It starts small, in the page of the CPUID results, because most processes
// have few traps, and each touched page costs a process more than all of its traps.
inline constexpr std::uint32_t kFewTrapEntries = 128, kTrapEntries = 4096;  // powers of two

struct PatchData {
  CpuidEntry cpuid[kMaxCpuidEntries];
  std::uint32_t has_many_traps;  // 0: the table is the first kFewTrapEntries; else all of them
  alignas(64) TrapEntry traps[kTrapEntries];
};
static_assert(offsetof(PatchData, traps) + kFewTrapEntries * sizeof(TrapEntry) <= 4096);

constexpr std::uint32_t first_trap_slot(std::uint64_t address, std::uint32_t entries) {
  return static_cast<std::uint32_t>(address * 0x9e37'79b9'7f4a'7c15ull >> 32) & (entries - 1);
}

// The first page of a patch area. Code in the area runs on a stack of its own and modifies nothing of the
// program's. One stack suffices, because one thread of a process runs at a time.
struct PatchAreaHeader {
  std::uint64_t saved_stack_pointer;
  std::uint64_t entry;       // entry of the shim; until it is loaded, of the area's first instructions
  std::uint64_t call_entry;  // the same for system calls, which use the thread's own stack
};

}  // namespace verbatim::protocol

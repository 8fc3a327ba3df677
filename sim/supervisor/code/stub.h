// The code that stands for a replaced instruction.
//
// A system call: the shim is entered through the area's header, with the address of the call itself in r11. It goes on there
// when the call is to be made as ever, or behind it, with the answer; either way rcx is then what Linux leaves in it.
//
// CPUID: reads its answer from the table at kPatchDataAddress. It needs no stack and no memory of its own, because the
// four registers that CPUID fills are free while the answer is looked for; it works from a process's first instruction.
//
// The others: take the area's stack, call the shim through the area's header, and go on with the program's stack. The
// shim changes no register but the results. What it cannot answer there (virtual time has to pass, and others to run) it
// leaves to a trap inside the stub: HLT, which the shim answers like one at the instruction's own place.
//
// Behind either lie the instructions that the jump took the place of, and a jump back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/supervisor/code/code_search.h"

namespace verbatim::code {

struct Stub {
  std::vector<std::uint8_t> bytes;
  std::optional<unsigned> trap;  // where in it the HLT is
};

// `area`: address of the area's header; `at`: where the stub will lie. nullopt: something is out of a near jump's reach.
std::optional<Stub> make_stub(const Site& site, std::uint64_t area, std::uint64_t at);

// Of a system call; verbs_shim/runtime/replaced_calls.cc knows what it is like behind the call.
std::optional<std::vector<std::uint8_t>> make_call_stub(const CallSite& site, std::uint64_t area, std::uint64_t at);

// The jump from `site` to `stub`, and what fills the rest of `length` bytes: instructions that nobody comes to, which trap.
std::vector<std::uint8_t> make_jump(std::uint64_t site, std::size_t length, std::uint64_t stub);

// Arrives as SIGSEGV where a program executes it.
inline constexpr std::uint8_t kHlt = 0xf4;

// What traps in the instruction's own place: HLT and NOPs.
std::vector<std::uint8_t> make_trap(const Site& site);

// The first instructions of an area's code: what its entries point to while the shim is not there. The loader reads the
// time stamp counter for statistics; it reads 0. System calls, kEarlyCallEntry bytes further, are made.
std::vector<std::uint8_t> make_early_entries();
inline constexpr unsigned kEarlyCallEntry = 11;

// What takes the place of "mov $9, %eax; syscall" in the loader while the supervisor traces it: the call, and a
// breakpoint when it has asked for executable memory. At least one jump long.
std::vector<std::uint8_t> make_memory_map_stub(std::uint64_t site, std::uint64_t at);
inline constexpr unsigned kMemoryMapSize = 7;

// What comes before it, and stays: a file that the loader reads in whole, the cache of libraries' names, is mapped where no
// library lies, so that its length moves none. Goes on at `next`.
std::vector<std::uint8_t> make_whole_file_stub(std::uint64_t at, std::uint64_t next);
// In place of the "mov"; the "syscall" behind it is left.
inline constexpr unsigned kMemoryMapJump = 5;

}  // namespace verbatim::code

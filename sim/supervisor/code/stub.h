// The code that stands for a replaced instruction.
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

// The jump to `stub`, and what fills the rest of the site: instructions that nobody comes to, which trap.
std::vector<std::uint8_t> make_jump(const Site& site, std::uint64_t stub);

// What traps in the instruction's own place: HLT and NOPs.
std::vector<std::uint8_t> make_trap(const Site& site);

// The first instructions of an area's code: what its entry points to while the shim is not there. The loader reads the
// time stamp counter for statistics; it reads 0.
std::vector<std::uint8_t> make_early_entry();

// What takes the place of "mov $9, %eax; syscall" in the loader while the supervisor traces it: the call, and a
// breakpoint when it has asked for executable memory. At least one jump long.
std::vector<std::uint8_t> make_memory_map_stub(std::uint64_t site, std::uint64_t at);
inline constexpr unsigned kMemoryMapSize = 7;

}  // namespace verbatim::code

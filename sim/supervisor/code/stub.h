// Stubs: code that replaces an instruction.
//
// System call: enters the shim through the area's header, with the address of the call itself in r11. The
// shim returns to the call, which is then made, or after it, with the answer. In both cases rcx has the value
// that Linux leaves in it.
//
// CPUID: reads the result from the table at kPatchDataAddress. Needs neither stack nor memory of its
// own, because the four registers that CPUID fills are free until then; works from the first
// instruction of a process.
//
// Other instructions: switch to the area's stack, call the shim through the area's header, and restore the
// program's stack. The shim changes only the result registers. If it cannot answer there (virtual time must
// pass, other threads must run), a HLT in the stub traps, and the shim answers it as one at the
// instruction's own address.
//
// The moved instructions and a jump back follow.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/supervisor/code/code_search.h"

namespace verbatim::code {

struct Stub {
  std::vector<std::uint8_t> bytes;
  std::optional<unsigned> trap;  // offset of the HLT
};

// `area`: address of the area's header; `at`: address of the stub. nullopt: an address is out of
// reach of a near jump.
std::optional<Stub> make_stub(const Site& site, std::uint64_t area, std::uint64_t at);

// Stub of a system call; verbs_shim/runtime/replaced_calls.cc depends on the code after the call.
std::optional<std::vector<std::uint8_t>> make_call_stub(const CallSite& site, std::uint64_t area, std::uint64_t at);

// Jump from `site` to `stub`; the rest of `length` bytes is filled with int3, which is never reached.
std::vector<std::uint8_t> make_jump(std::uint64_t site, std::size_t length, std::uint64_t stub);

// Raises SIGSEGV in a program.
inline constexpr std::uint8_t kHlt = 0xf4;

// In-place trap: HLT and NOPs.
std::vector<std::uint8_t> make_trap(const Site& site);

// First instructions of an area's code, the entry points until the shim is loaded. RDTSC reads 0: the loader
// reads it for statistics. At kEarlyCallEntry, system calls are made as usual.
std::vector<std::uint8_t> make_early_entries();
inline constexpr unsigned kEarlyCallEntry = 11;

// Replacement of the loader's "mov $9, %eax; syscall" while it is traced: the call, and a breakpoint if it
// requested executable memory. At least one jump long.
std::vector<std::uint8_t> make_memory_map_stub(std::uint64_t site, std::uint64_t at);
// Bytes of these two instructions.
inline constexpr unsigned kMemoryMapSize = 7;

// Permanent code before the loader's mmap: a file that the loader maps completely and read-only (ld.so.cache)
// is mapped away from the libraries, so that its length does not move them. Continues at `next`.
std::vector<std::uint8_t> make_whole_file_stub(std::uint64_t at, std::uint64_t next);
// Bytes of the jump that replaces the "mov"; the "syscall" after it stays.
inline constexpr unsigned kMemoryMapJump = 5;

}  // namespace verbatim::code

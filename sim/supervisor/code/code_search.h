// Searches code for instructions whose result depends on the machine (protocol::DecidedInstruction).
//
// One in ten byte sequences that look like such an instruction is one. A match counts if decoding from the
// beginning of its function reaches it as an instruction. Outside known functions, code is followed along direct
// calls and branches, from known functions and the program's entry on. Other bytes there may be code or data: instructions
// that decoding from the end of the previous function reaches are reported, and not replaced.
//
// A near jump (five bytes) can replace an instruction if the instructions that it overwrites can be moved:
// none is relative to its address (rip-relative operands are corrected), nothing jumps between them, and all
// belong to one function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/supervisor/code/elf_image.h"
#include "verbs_shim/protocol/patches.h"

namespace verbatim::code {

inline constexpr unsigned kJumpSize = 5;

struct Site {
  std::uint64_t address = 0;  // in the file before relocation, or in memory
  std::uint64_t offset = 0;   // in the file
  protocol::PatchedInstruction instruction;
  unsigned length = 0;
  // Bytes that a jump overwrites: the instruction and following ones that are moved. 0: a jump does not fit.
  unsigned jump_length = 0;
  std::vector<std::uint8_t> bytes;  // max(length, jump_length) bytes of code
  // A 4-byte rip-relative displacement in `bytes`, corrected when its instruction is moved.
  struct Relative {
    unsigned at;   // offset of the displacement
    unsigned end;  // end of its instruction
  };
  std::vector<Relative> relatives;
};

// A system call that can be replaced together with the instruction before it, which loads its number or an
// argument, or the one after it, which compares its result. Other system calls keep trapping.
struct CallSite {
  std::uint64_t address = 0;  // of `bytes`, in the file before relocation
  std::uint64_t offset = 0;   // in the file
  std::vector<std::uint8_t> bytes;  // both instructions
  unsigned call_at = 0;             // offset of the call in them: kBehindLoad or 0
  static constexpr unsigned kBehindLoad = 5;

  std::uint64_t next() const { return address + call_at + kCallSize; }  // after the call
  static constexpr unsigned kCallSize = 2;
};

// Bytes that may be code or data.
struct Doubt {
  std::uint64_t address = 0;
  std::uint64_t offset = 0;  // in the file
  protocol::DecidedInstruction kind = protocol::DecidedInstruction::kNone;
};

struct SearchResult {
  std::vector<Site> sites;    // sorted by address
  std::vector<Doubt> doubts;  // sorted by address
  // Offsets of mmap calls: "mov $9, %eax; syscall". In the loader these map every library.
  std::vector<std::uint64_t> memory_maps;
};

// Searches a file.
SearchResult search_image(const ElfImage& image, std::span<const std::byte> file);

// System calls of a file that can be replaced, sorted by address.
std::vector<CallSite> search_calls(const ElfImage& image, std::span<const std::byte> file);

// Searches memory at `address` that belongs to no file, decoded from its first byte.
SearchResult search_memory(std::uint64_t address, std::span<const std::byte> bytes);

std::string name_of(protocol::DecidedInstruction kind);

}  // namespace verbatim::code

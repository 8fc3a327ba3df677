// Searches code for the instructions whose result the machine decides (protocol::DecidedInstruction).
//
// Bytes that look like such an instruction are one in ten times one: a match counts when decoding from the beginning of
// the function it lies in comes to it as an instruction. Where no function is known the bytes may be code or data; what
// decoding from the end of the function before comes to is reported and left alone.
//
// An instruction can be replaced by a near jump, five bytes, where it and those behind it that lie in the way can be
// moved: none of them is relative to its place (addresses relative to rip are corrected), nothing jumps between them,
// and all belong to one function.
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
  std::uint64_t address = 0;  // as in the file, or of memory
  std::uint64_t offset = 0;   // in the file
  protocol::PatchedInstruction instruction;
  unsigned length = 0;
  // Bytes that a jump takes: the instruction and those behind it which are moved. 0: a jump does not fit.
  unsigned jump_length = 0;
  std::vector<std::uint8_t> bytes;  // max(length, jump_length) bytes of code
  // Within `bytes`: four bytes that are relative to the end of their instruction, to be corrected when it is moved.
  struct Relative {
    unsigned at;   // of the displacement
    unsigned end;  // of the instruction
  };
  std::vector<Relative> relatives;
};

// A system call whose instruction can be replaced, with the one before it, which loads its number or an argument, or with the
// one behind, which compares its result. Others are left to the trap that they are.
struct CallSite {
  std::uint64_t address = 0;  // of `bytes`, as in the file
  std::uint64_t offset = 0;   // in the file
  std::vector<std::uint8_t> bytes;  // both instructions
  unsigned call_at = 0;             // where in them the call is: kBehindLoad or 0
  static constexpr unsigned kBehindLoad = 5;

  std::uint64_t next() const { return address + call_at + kCallSize; }  // behind the call
  static constexpr unsigned kCallSize = 2;
};

// Code that could not be told from data.
struct Doubt {
  std::uint64_t address = 0;
  std::uint64_t offset = 0;  // in the file
  protocol::DecidedInstruction kind = protocol::DecidedInstruction::kNone;
};

struct SearchResult {
  std::vector<Site> sites;    // ordered by address
  std::vector<Doubt> doubts;  // ordered by address
  // Offsets of what maps memory: "mov $9, %eax; syscall". The loader's tell of every library.
  std::vector<std::uint64_t> memory_maps;
};

// Of a file.
SearchResult search_image(const ElfImage& image, std::span<const std::byte> file);

// Its system calls that can be replaced, ordered by address.
std::vector<CallSite> search_calls(const ElfImage& image, std::span<const std::byte> file);

// Of memory at `address` that belongs to no file: decoded from its first byte on.
SearchResult search_memory(std::uint64_t address, std::span<const std::byte> bytes);

std::string name_of(protocol::DecidedInstruction kind);

}  // namespace verbatim::code

// Callers of functions, from call frame information (.eh_frame, which compilers emit with and without -g),
// and names of functions. For messages only. Every number in the file is checked. Unsupported: frames found
// by a DWARF expression, signal frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace verbatim::code {

// Caller's registers, relative to those of a function at one of its instructions. The caller's stack pointer
// is a base register plus a distance.
struct FrameRule {
  bool is_of_frame_pointer = false;            // base is the frame pointer (rbp), otherwise the stack pointer
  std::int64_t distance = 0;                   // added to the base
  std::int64_t return_address = -8;            // its address, relative to the caller's stack pointer
  // address of the caller's rbp, relative to the same; nullopt: rbp is unchanged
  std::optional<std::int64_t> frame_pointer;
  bool is_frame_pointer_lost = false;          // the caller's rbp is unknown
};
// Rule for the instruction at `address` (p_vaddr, before relocation) of an ELF file.
std::optional<FrameRule> frame_rule(std::span<const std::byte> file, std::uint64_t address);

struct NamedFunction {
  std::string name;  // without compiler suffixes (".part.0"); C++ names without arguments
  std::uint64_t begin = 0, end = 0;
};
// The function that contains `address`, by the file's symbols; nullopt: no symbol.
std::optional<NamedFunction> function_at(std::span<const std::byte> file, std::uint64_t address);
// The function that the file exports by this name.
std::optional<NamedFunction> exported_function(std::span<const std::byte> file, std::string_view name);

// Address of the file's first byte in memory, before relocation; nullopt: no ELF file with
// a loadable segment.
std::optional<std::uint64_t> first_address(std::span<const std::byte> file);

}  // namespace verbatim::code

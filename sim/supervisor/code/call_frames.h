// Who has called a function, as its call frame information tells (.eh_frame, which compilers write with or without -g), and the
// names of functions. Only for what is said to people. Every number in the file is checked; of what is not simple (a frame that
// an expression finds, one of a signal) nothing is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace verbatim::code {

// How the registers of its caller follow from those of a function, at one instruction of it. The caller's stack pointer is a sum.
struct FrameRule {
  bool is_of_frame_pointer = false;            // it is counted from the frame pointer (rbp), else from the stack pointer
  std::int64_t distance = 0;                   // what is added
  std::int64_t return_address = -8;            // where it is, from the caller's stack pointer
  std::optional<std::int64_t> frame_pointer;   // where the caller's is, likewise; none: it is unchanged
  bool is_frame_pointer_lost = false;          // it cannot be found
};
// Of the instruction at `address` (p_vaddr, before relocation) in an ELF file.
std::optional<FrameRule> frame_rule(std::span<const std::byte> file, std::uint64_t address);

struct NamedFunction {
  std::string name;  // without what a compiler adds to it (".part.0"), of C++ without arguments
  std::uint64_t begin = 0, end = 0;
};
// In which it lies, by the file's symbols; nullopt: it has none.
std::optional<NamedFunction> function_at(std::span<const std::byte> file, std::uint64_t address);
// The function that the file gives to others by this name.
std::optional<NamedFunction> exported_function(std::span<const std::byte> file, std::string_view name);

// The address of the file's first byte in memory, before relocation; nullopt: it is no ELF file with such a part.
std::optional<std::uint64_t> first_address(std::span<const std::byte> file);

}  // namespace verbatim::code

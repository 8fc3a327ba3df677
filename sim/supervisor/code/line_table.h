// Which line of which source file an instruction comes from, as the compiler tells it with -g (DWARF 2 to 5, .debug_line).
// Only for what is said to people. Every number in the file is checked; of a damaged or compressed table nothing is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace verbatim::code {

// "app.c:88" of the instruction at `address` (p_vaddr, before relocation) in an ELF file; nullopt: it does not say.
std::optional<std::string> source_line(std::span<const std::byte> file, std::uint64_t address);

}  // namespace verbatim::code

// Source lines of instructions, from debug information (-g; DWARF 2 to 5, .debug_line). For messages only.
// Every number in the file is checked. Damaged or compressed tables give nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace verbatim::code {

// "app.c:88" for the instruction at `address` (p_vaddr, before relocation) of an ELF file; nullopt: unknown.
std::optional<std::string> source_line(std::span<const std::byte> file, std::uint64_t address);

}  // namespace verbatim::code

// Tables of an ELF file: header, program headers and sections. Every number in the file is checked, and no
// table is longer than the file, so loops over rows end.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace verbatim::code {

template <class T>
bool load(std::span<const std::byte> file, std::uint64_t at, T& value) {
  if (at > file.size() || file.size() - at < sizeof value) return false;
  std::memcpy(&value, file.data() + at, sizeof value);
  return true;
}

// nullopt: no 64-bit x86 ELF file.
std::optional<Elf64_Ehdr> elf_header(std::span<const std::byte> file);

// Program headers whose content is within the file, in its order; empty: no 64-bit x86 ELF file. Headers
// after the first 4096 bytes of the table are omitted: Linux executes no file with more.
std::vector<Elf64_Phdr> parts_of(std::span<const std::byte> file);

// In the file's order, as far as the table is within the file. The contents of sections are not checked.
std::vector<Elf64_Shdr> sections_of(std::span<const std::byte> file);

// First section of this type whose content is within the file. The ELF specification allows one symbol
// table of each type.
const Elf64_Shdr* section_of_type(std::span<const std::byte> file, std::span<const Elf64_Shdr> sections, std::uint32_t type);

}  // namespace verbatim::code

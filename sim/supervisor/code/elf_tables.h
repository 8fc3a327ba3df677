// The tables that an ELF file begins with: its header, its parts (program headers) and its sections. Every number in the file is
// checked, and no table is longer than the file has room for, so that what is done for each row ends.
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

// nullopt: it is no 64-bit x86 ELF file.
std::optional<Elf64_Ehdr> elf_header(std::span<const std::byte> file);

// Those that lie within the file, in its order; empty where it is no 64-bit x86 ELF file. Linux executes no file whose table
// takes more than a page: parts behind the first page of it are left out.
std::vector<Elf64_Phdr> parts_of(std::span<const std::byte> file);

// In the file's order, as far as the table lies within the file. What a section refers to is not checked.
std::vector<Elf64_Shdr> sections_of(std::span<const std::byte> file);

// The first section of that type that lies within the file. The ELF specification has no file with two tables of symbols of one
// type.
const Elf64_Shdr* section_of_type(std::span<const std::byte> file, std::span<const Elf64_Shdr> sections, std::uint32_t type);

}  // namespace verbatim::code

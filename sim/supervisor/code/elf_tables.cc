#include "sim/supervisor/code/elf_tables.h"

#include <algorithm>

namespace verbatim::code {

namespace {

bool lies_within(std::span<const std::byte> file, std::uint64_t offset, std::uint64_t size) {
  return offset <= file.size() && size <= file.size() - offset;
}

template <class Row>
std::vector<Row> rows_of(std::span<const std::byte> file, std::uint64_t table, std::uint64_t count) {
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < count; ++i) {
    Row row;
    if (!load(file, table + i * sizeof row, row)) break;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

std::optional<Elf64_Ehdr> elf_header(std::span<const std::byte> file) {
  Elf64_Ehdr header;
  if (!load(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != EM_X86_64) {
    return std::nullopt;
  }
  return header;
}

std::vector<Elf64_Phdr> parts_of(std::span<const std::byte> file) {
  constexpr std::uint64_t kMost = 4096 / sizeof(Elf64_Phdr);
  const auto header = elf_header(file);
  if (!header) return {};
  auto parts = rows_of<Elf64_Phdr>(file, header->e_phoff, std::min<std::uint64_t>(header->e_phnum, kMost));
  std::erase_if(parts, [&](const Elf64_Phdr& part) { return !lies_within(file, part.p_offset, part.p_filesz); });
  return parts;
}

std::vector<Elf64_Shdr> sections_of(std::span<const std::byte> file) {
  const auto header = elf_header(file);
  return header ? rows_of<Elf64_Shdr>(file, header->e_shoff, header->e_shnum) : std::vector<Elf64_Shdr>();
}

const Elf64_Shdr* section_of_type(std::span<const std::byte> file, std::span<const Elf64_Shdr> sections, std::uint32_t type) {
  const auto found = std::ranges::find_if(sections, [&](const Elf64_Shdr& section) {
    return section.sh_type == type && lies_within(file, section.sh_offset, section.sh_size);
  });
  return found == sections.end() ? nullptr : &*found;
}

}  // namespace verbatim::code

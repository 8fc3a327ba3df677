#include "sim/supervisor/code/elf_image.h"

#include <algorithm>

#include "sim/supervisor/code/elf_tables.h"
#include "sim/supervisor/code/frame_entries.h"

namespace verbatim::code {

std::optional<ElfImage> ElfImage::read(std::span<const std::byte> file) {
  const auto header = elf_header(file);
  if (!header) return std::nullopt;
  ElfImage image;
  if (header->e_type == ET_EXEC) image.entry_ = header->e_entry;
  std::uint64_t frames_offset = 0, frames_address = 0;
  for (const Elf64_Phdr& part : parts_of(file)) {
    if (part.p_type == PT_LOAD) image.segments_.push_back({part.p_offset, part.p_filesz, part.p_vaddr});
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
      image.add_executable({part.p_offset, part.p_filesz, part.p_vaddr});
    }
    if (part.p_type == PT_INTERP) image.entry_ = header->e_entry;
    if (part.p_type == PT_GNU_EH_FRAME) {
      frames_offset = part.p_offset;
      frames_address = part.p_vaddr;
    }
  }
  if (frames_offset != 0) image.add_frames(file, frames_offset, frames_address);
  image.add_symbols(file);

  auto& functions = image.functions_;
  std::erase_if(functions, [&](const Function& f) { return f.end <= f.begin || !image.is_code(f.begin); });
  // Two functions with the same begin: the longer one is kept.
  std::sort(functions.begin(), functions.end(), [](const Function& a, const Function& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  functions.erase(std::unique(functions.begin(), functions.end(),
                              [](const Function& a, const Function& b) { return a.begin == b.begin; }),
                  functions.end());
  auto& sections = image.code_sections_;
  std::ranges::sort(sections, {}, &Function::begin);
  const auto overlaps = [](const Function& before, const Function& section) { return section.begin < before.end; };
  sections.erase(std::unique(sections.begin(), sections.end(), overlaps), sections.end());
  return image;
}

// Code is searched once, however many segments of a damaged file contain it.
void ElfImage::add_executable(const ExecutablePart& part) {
  const auto meet = [](std::uint64_t a, std::uint64_t a_size, std::uint64_t b, std::uint64_t b_size) {
    return a < b ? b - a < a_size : a - b < b_size;
  };
  const bool is_known = std::ranges::any_of(executable_, [&](const ExecutablePart& other) {
    return meet(part.offset, part.size, other.offset, other.size) || meet(part.address, part.size, other.address, other.size);
  });
  const bool wraps = part.address + part.size < part.address;
  if (!is_known && !wraps && part.size > 0) executable_.push_back(part);
}

std::optional<std::uint64_t> ElfImage::offset_of(std::uint64_t address) const {
  for (const Segment& segment : segments_) {
    if (address >= segment.address && address - segment.address < segment.size)
      return segment.offset + (address - segment.address);
  }
  return std::nullopt;
}

bool ElfImage::is_code(std::uint64_t address) const {
  return std::any_of(executable_.begin(), executable_.end(), [&](const ExecutablePart& part) {
    return address >= part.address && address - part.address < part.size;
  });
}

// .eh_frame_hdr: a table of (function, frame description), both relative to the header.
void ElfImage::add_frames(std::span<const std::byte> file, std::uint64_t header_offset,
                          std::uint64_t header_address) {
  std::uint8_t encodings[4];
  std::uint32_t count;
  if (!load(file, header_offset, encodings) || encodings[0] != 1) return;
  const std::uint64_t pointer_size = (encodings[1] & 0x0f) == kSdata4 || (encodings[1] & 0x0f) == kUdata4 ? 4 : 8;
  if (encodings[2] != kUdata4 || encodings[3] != (kDataRelative | kSdata4)) return;
  if (!load(file, header_offset + 4 + pointer_size, count)) return;
  const std::uint64_t table = header_offset + 8 + pointer_size;
  std::uint64_t known_entry = ~0ull;
  std::optional<CommonEntry> common;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::int32_t row[2];
    if (!load(file, table + std::uint64_t{i} * sizeof row, row)) return;
    const std::uint64_t description = header_address + static_cast<std::uint64_t>(std::int64_t{row[1]});
    const auto at = offset_of(description);
    std::uint32_t length, distance;
    if (!at || !load(file, *at, length) || length == 0 || length == 0xffff'ffff || !load(file, *at + 4, distance)) {
      continue;
    }
    const std::uint64_t entry = *at + 4 - distance;  // offset in the file; both are in .eh_frame
    if (entry != known_entry) {
      common = read_common_entry(file, entry);
      known_entry = entry;
    }
    if (!common) continue;
    const auto begin = read_pointer(file, *at + 8, description + 8, common->encoding);
    if (!begin) continue;
    const auto size = read_pointer(file, *at + 8 + begin->size, 0, common->encoding & 0x0f);
    if (!size) continue;
    functions_.push_back({begin->value, begin->value + size->value});
  }
}

void ElfImage::add_symbols(std::span<const std::byte> file) {
  const std::vector<Elf64_Shdr> sections = sections_of(file);
  for (const Elf64_Shdr& section : sections) {
    const std::uint64_t end = section.sh_addr + section.sh_size;
    if ((section.sh_flags & SHF_EXECINSTR) != 0 && section.sh_type == SHT_PROGBITS && is_code(section.sh_addr) &&
        end > section.sh_addr) {
      code_sections_.push_back({section.sh_addr, end});
    }
  }
  for (const std::uint32_t type : {SHT_DYNSYM, SHT_SYMTAB}) {
    const Elf64_Shdr* const table = section_of_type(file, sections, type);
    if (table == nullptr) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      if (!load(file, table->sh_offset + at, symbol)) return;
      const unsigned kind = ELF64_ST_TYPE(symbol.st_info);
      if ((kind != STT_FUNC && kind != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
      functions_.push_back({symbol.st_value, symbol.st_value + symbol.st_size});
    }
  }
}

}  // namespace verbatim::code

#include "sim/supervisor/code/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "sim/supervisor/code/frame_entries.h"

namespace verbatim::code {

namespace {

}  // namespace

std::optional<ElfImage> ElfImage::read(std::span<const std::byte> file) {
  Elf64_Ehdr header;
  if (!load(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64) {
    return std::nullopt;
  }
  ElfImage image;
  std::uint64_t frames_offset = 0, frames_address = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    if (!load(file, header.e_phoff + std::uint64_t{i} * sizeof part, part)) break;
    if (part.p_offset > file.size() || part.p_filesz > file.size() - part.p_offset) continue;
    if (part.p_type == PT_LOAD) image.segments_.push_back({part.p_offset, part.p_filesz, part.p_vaddr});
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
      image.executable_.push_back({part.p_offset, part.p_filesz, part.p_vaddr});
    }
    if (part.p_type == PT_GNU_EH_FRAME) {
      frames_offset = part.p_offset;
      frames_address = part.p_vaddr;
    }
  }
  if (frames_offset != 0) image.add_frames(file, frames_offset, frames_address);
  image.add_symbols(file);

  auto& functions = image.functions_;
  std::erase_if(functions, [&](const Function& f) { return f.end <= f.begin || !image.is_code(f.begin); });
  // Of two that begin at one place the longer one says more.
  std::sort(functions.begin(), functions.end(), [](const Function& a, const Function& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  functions.erase(std::unique(functions.begin(), functions.end(),
                              [](const Function& a, const Function& b) { return a.begin == b.begin; }),
                  functions.end());
  std::sort(image.code_sections_.begin(), image.code_sections_.end(),
            [](const Function& a, const Function& b) { return a.begin < b.begin; });
  return image;
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
    const std::uint64_t entry = *at + 4 - distance;  // in the file; both lie in .eh_frame
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
  Elf64_Ehdr header;
  if (!load(file, 0, header)) return;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!load(file, header.e_shoff + std::uint64_t{i} * sizeof section, section)) return;
    if ((section.sh_flags & SHF_EXECINSTR) != 0 && section.sh_type == SHT_PROGBITS && is_code(section.sh_addr)) {
      code_sections_.push_back({section.sh_addr, section.sh_addr + section.sh_size});
    }
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) continue;
    if (section.sh_offset > file.size() || section.sh_size > file.size() - section.sh_offset) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      if (!load(file, section.sh_offset + at, symbol)) return;
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
      functions_.push_back({symbol.st_value, symbol.st_value + symbol.st_size});
    }
  }
}

}  // namespace verbatim::code

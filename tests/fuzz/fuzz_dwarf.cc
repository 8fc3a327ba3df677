// Line tables and call frame information of files that programs map. The first byte of an input selects the format of
// the rest:
//   0  an address to look up (8 bytes), then a whole ELF file
//   1  an address, sizes of .debug_str and .debug_line_str (2 bytes each), those sections, then .debug_line
//   2  an address, the offset of a description in the section (2 bytes), then .eh_frame
// A line found has a name and a number; a frame rule is within the limits of the instructions.
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/check.h"
#include "sim/supervisor/code/call_frames.h"
#include "sim/supervisor/code/line_table.h"

namespace verbatim {

namespace {

using Input = std::span<const std::byte>;

// Removes a number from the front of an input and returns it; zero if the input is too short.
template <class Number>
Number take(Input& input) {
  Number number{};
  const std::size_t size = std::min(sizeof number, input.size());
  if (size > 0) std::memcpy(&number, input.data(), size);
  input = input.subspan(size);
  return number;
}

Input take_bytes(Input& input, std::size_t size) {
  const Input taken = input.first(std::min(size, input.size()));
  input = input.subspan(taken.size());
  return taken;
}

// An ELF file with added sections.
class File {
 public:
  File() : bytes_(sizeof(Elf64_Ehdr)) {}

  std::uint64_t add(Input content) {
    const std::uint64_t at = bytes_.size();
    bytes_.insert(bytes_.end(), content.begin(), content.end());
    return at;
  }
  template <class Value>
  std::uint64_t add_value(const Value& value) {
    return add(std::as_bytes(std::span(&value, 1)));
  }
  void set_header(Elf64_Ehdr header) {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_machine = EM_X86_64;
    std::memcpy(bytes_.data(), &header, sizeof header);
  }
  Input bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

void look_up(Input file, std::uint64_t address) {
  if (const auto line = code::source_line(file, address)) {
    const std::size_t colon = line->rfind(':');
    CHECK(colon != line->npos && colon + 1 < line->size() && (*line)[colon + 1] != '-');
  }
  if (const auto rule = code::frame_rule(file, address))
    CHECK(!rule->frame_pointer || !rule->is_frame_pointer_lost);
}

void look_up_line(Input input, std::uint64_t address) {
  constexpr std::string_view kNames("\0.names\0.debug_line\0.debug_str\0.debug_line_str\0", 47);
  const auto strings_size = take<std::uint16_t>(input), line_strings_size = take<std::uint16_t>(input);
  const Input strings = take_bytes(input, strings_size), line_strings = take_bytes(input, line_strings_size);
  File file;
  std::vector<Elf64_Shdr> sections;
  const auto add_section = [&](std::string_view name, Input content) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<Elf64_Word>(kNames.find(name));
    section.sh_type = SHT_PROGBITS;
    section.sh_size = content.size();
    section.sh_offset = file.add(content);
    sections.push_back(section);
  };
  const auto names = std::as_bytes(std::span(kNames));
  add_section(std::string_view(".names\0", 7), names);
  add_section(std::string_view(".debug_str\0", 11), strings);
  add_section(std::string_view(".debug_line_str\0", 16), line_strings);
  add_section(std::string_view(".debug_line\0", 12), input);
  Elf64_Ehdr header{};
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  header.e_shoff = file.add(std::as_bytes(std::span(sections)));
  file.set_header(header);
  look_up(file.bytes(), address);
}

// The table has one row for all addresses, which refers to the input's description.
void look_up_frame(Input input, std::uint64_t address) {
  const auto description = take<std::uint16_t>(input);
  File file;
  const struct {
    std::uint8_t encodings[4] = {1, 0x1b, 0x03, 0x3b};
    std::int32_t frames = 0;
    std::uint32_t count = 1;
    std::int32_t function = 0, description = 0;
  } table{.function = 0, .description = static_cast<std::int32_t>(sizeof table) + description};
  Elf64_Phdr parts[2]{};
  parts[0].p_type = PT_GNU_EH_FRAME;
  parts[0].p_filesz = sizeof table;
  parts[0].p_offset = file.add_value(table);
  parts[1].p_type = PT_LOAD;
  parts[1].p_offset = parts[0].p_offset;
  parts[1].p_filesz = sizeof table + input.size();
  file.add(input);
  Elf64_Ehdr header{};
  header.e_phnum = 2;
  header.e_phoff = file.add(std::as_bytes(std::span(parts)));
  file.set_header(header);
  look_up(file.bytes(), address);
}

}  // namespace

}  // namespace verbatim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace verbatim;
  Input input = std::as_bytes(std::span(data, size));
  const auto kind = take<std::uint8_t>(input) % 3;
  const auto address = take<std::uint64_t>(input);
  if (kind == 0) look_up(input, address);
  if (kind == 1) look_up_line(input, address);
  if (kind == 2) look_up_frame(input, address);
  return 0;
}

// Malformed files: results stay within bounds, and reading ends.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/supervisor/code/call_frames.h"
#include "sim/supervisor/code/code_search.h"
#include "sim/supervisor/code/elf_image.h"
#include "sim/supervisor/code/frame_entries.h"
#include "sim/supervisor/code/line_table.h"
#include "sim/supervisor/machine/launcher.h"
#include "sim/supervisor/machine/needed_libraries.h"

namespace verbatim::code {
namespace {

using Content = std::vector<std::byte>;

constexpr std::uint64_t kFileAt = 0x400000;  // the address of a file's first byte

// An ELF file to which the tests add content; it is mapped as a whole.
class MadeFile {
 public:
  MadeFile() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_machine = EM_X86_64;
    header.e_phentsize = sizeof(Elf64_Phdr);
  }

  template <class Element>
  std::uint64_t add(const std::vector<Element>& elements) {
    const auto bytes = std::as_bytes(std::span(elements));
    const std::uint64_t at = content_.size();
    content_.insert(content_.end(), bytes.begin(), bytes.end());
    return at;
  }
  std::uint64_t add(const std::string& text) { return add(std::vector<char>(text.begin(), text.end())); }
  std::uint64_t add_section(Elf64_Word type, std::uint64_t offset, std::uint64_t size, Elf64_Word name = 0,
                            Elf64_Word link = 0) {
    Elf64_Shdr section{};
    section.sh_type = type;
    section.sh_offset = offset;
    section.sh_size = size;
    section.sh_name = name;
    section.sh_link = link;
    sections.push_back(section);
    return sections.size() - 1;
  }
  void add_part(Elf64_Word type, std::uint64_t offset, std::uint64_t size) {
    Elf64_Phdr part{};
    part.p_type = type;
    part.p_flags = PF_R | PF_X;
    part.p_offset = offset;
    part.p_filesz = part.p_memsz = size;
    part.p_vaddr = kFileAt + offset;
    parts.push_back(part);
  }
  Content bytes() {
    header.e_phnum = static_cast<Elf64_Half>(parts.size());
    header.e_shnum = static_cast<Elf64_Half>(sections.size());
    if (!parts.empty()) header.e_phoff = add(parts);
    if (!sections.empty()) header.e_shoff = add(sections);
    Content whole = content_;
    std::memcpy(whole.data(), &header, sizeof header);
    return whole;
  }

  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> parts;
  std::vector<Elf64_Shdr> sections;

 private:
  Content content_ = Content(sizeof(Elf64_Ehdr));
};

Elf64_Sym function_symbol(std::uint64_t begin, std::uint64_t size, Elf64_Word name = 0) {
  Elf64_Sym symbol{};
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = 1;
  symbol.st_value = begin;
  symbol.st_size = size;
  symbol.st_name = name;
  return symbol;
}

std::string written(const Content& bytes, const std::string& name) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(ElfImage, code_that_many_parts_share_is_searched_once) {
  MadeFile file;
  const std::uint64_t code = file.add(std::string("\x0f\x31\xc3", 3));
  for (int i = 0; i < 50; ++i) file.add_part(PT_LOAD, code, 3);
  const std::uint64_t symbols = file.add(std::vector{function_symbol(kFileAt + code, 3)});
  file.add_section(SHT_SYMTAB, symbols, sizeof(Elf64_Sym));
  const Content bytes = file.bytes();
  const auto image = ElfImage::read(bytes);
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(image->executable().size(), 1u);
  EXPECT_EQ(search_image(*image, bytes).sites.size(), 1u);
}

// Sixty thousand references to a table of a hundred thousand symbols; reading all would take 100 GiB.
TEST(ElfImage, one_table_of_symbols_of_a_type_is_read) {
  MadeFile file;
  const std::uint64_t code = file.add(std::string(200'000, '\x90'));
  file.add_part(PT_LOAD, code, 200'000);
  std::vector<Elf64_Sym> functions;
  for (std::uint64_t i = 0; i < 100'000; ++i) functions.push_back(function_symbol(kFileAt + code + 2 * i, 2));
  const std::uint64_t symbols = file.add(functions);
  for (int i = 0; i < 60'000; ++i)
    file.add_section(SHT_SYMTAB, symbols, functions.size() * sizeof(Elf64_Sym));
  const Content bytes = file.bytes();
  const auto image = ElfImage::read(bytes);
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(image->functions().size(), functions.size());
  EXPECT_FALSE(function_at(bytes, kFileAt - 1).has_value());
}

// Every function includes all functions behind it, and each would be decoded to its end for the match at its
// beginning.
TEST(CodeSearch, functions_within_functions_are_searched_up_to_a_limit) {
  constexpr std::uint64_t kSize = 1 << 20, kStep = 8;
  MadeFile file;
  std::string content;
  while (content.size() < kSize)
    content += std::string("\x0f\x31\x48\x09\xd0\x90\x90\x90", kStep);  // rdtsc; or %rdx, %rax
  const std::uint64_t code = file.add(content);
  file.add_part(PT_LOAD, code, kSize);
  std::vector<Elf64_Sym> functions;
  for (std::uint64_t at = 0; at < kSize; at += kStep)
    functions.push_back(function_symbol(kFileAt + code + at, kSize - at));
  file.add_section(SHT_SYMTAB, file.add(functions), functions.size() * sizeof(Elf64_Sym));
  const Content bytes = file.bytes();
  const SearchResult found = search_image(ElfImage::read(bytes).value(), bytes);
  EXPECT_FALSE(found.sites.empty());
  EXPECT_FALSE(found.doubts.empty());
  EXPECT_EQ(found.sites.size() + found.doubts.size(),
            kSize / kStep);  // places not known to be code are reported
}

// Libraries in assembly have no bounds of functions; a known function calls them.
TEST(CodeSearch, code_that_a_known_function_calls_is_code) {
  using namespace std::string_literals;
  const std::string content =
      "\xe8\x09\0\0\0\xc3\x90\x90"s                      // the known function: call 14; ret
      "\xe8\x13\0\0\0\xc3"s                                // outside: a call of 33 that no known function makes
      "\x74\x0a\x0f\x31\x48\x09\xd0\xe8\x05\0\0\0\xc3"s  // 14: je 26; 16: rdtsc; or; call 31; 26: ret
      "\x90\x90\x90\x90"s
      "\x0f\xa2\xc3"s                                      // 31: cpuid; ret
      "\x0f\x31\xc3"s;                                     // 34: nothing leads here
  ASSERT_EQ(content.size(), 37u);
  MadeFile file;
  const std::uint64_t code = file.add(content);
  file.add_part(PT_LOAD, code, content.size());
  file.add_section(SHT_SYMTAB, file.add(std::vector{function_symbol(kFileAt + code, 6)}), sizeof(Elf64_Sym));
  const Content bytes = file.bytes();
  const SearchResult found = search_image(ElfImage::read(bytes).value(), bytes);
  ASSERT_EQ(found.sites.size(), 2u);
  EXPECT_EQ(found.sites[0].address, kFileAt + code + 16);
  EXPECT_EQ(found.sites[0].jump_length, 5u);
  EXPECT_EQ(found.sites[1].address, kFileAt + code + 31);
  ASSERT_EQ(found.doubts.size(), 1u);
  EXPECT_EQ(found.doubts[0].address, kFileAt + code + 34);
}

TEST(CodeSearch, code_that_the_entry_of_a_stripped_program_leads_to_is_code) {
  using namespace std::string_literals;
  const std::string content =
      "\xe9\x02\0\0\0\x0f\x31"s  // jmp 7; nothing leads to 5
      "\x0f\xa2\xc3"s;            // 7: cpuid; ret
  for (const bool is_program : {true, false}) {
    MadeFile file;
    const std::uint64_t code = file.add(content);
    file.add_part(PT_LOAD, code, content.size());
    Content bytes = file.bytes();
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.e_type = is_program ? ET_EXEC : ET_DYN;
    header.e_entry = kFileAt + code;
    std::memcpy(bytes.data(), &header, sizeof header);
    const SearchResult found = search_image(ElfImage::read(bytes).value(), bytes);
    ASSERT_EQ(found.sites.size(), is_program ? 1u : 0u);
    if (is_program) {
      EXPECT_EQ(found.sites[0].address, kFileAt + code + 7);
    }
    EXPECT_EQ(found.doubts.size(), is_program ? 1u : 2u);
  }
}

TEST(CodeSearch, code_without_functions_is_decoded_once) {
  constexpr std::uint64_t kSize = 2 << 20;
  MadeFile file;
  std::string content;
  while (content.size() < kSize) content += std::string("\x0f\x31", 2);
  file.add_part(PT_LOAD, file.add(content), kSize);
  const Content bytes = file.bytes();
  EXPECT_EQ(search_image(ElfImage::read(bytes).value(), bytes).doubts.size(), kSize / 2);
}

// Each level expands the previous one four times.
TEST(FrameEntries, pointers_have_their_size_and_sign_and_may_be_relative) {
  std::vector<std::byte> file(16, std::byte{0xff});
  const std::uint64_t value = 0x1122'3344'8000'0010;
  std::memcpy(file.data() + 4, &value, sizeof value);
  constexpr std::uint64_t kAddress = 0x40'0000;
  const auto pointer = [&](std::uint8_t encoding) { return read_pointer(file, 4, kAddress, encoding); };
  for (const std::uint8_t encoding : {0x00, 0x04, 0x0c}) {
    ASSERT_TRUE(pointer(encoding)) << int{encoding};
    EXPECT_EQ(pointer(encoding)->value, value) << int{encoding};
    EXPECT_EQ(pointer(encoding)->size, 8u) << int{encoding};
  }
  EXPECT_EQ(pointer(0x03)->value, 0x8000'0010u);
  EXPECT_EQ(pointer(0x03)->size, 4u);
  EXPECT_EQ(pointer(0x0b)->value, 0xffff'ffff'8000'0010u);
  EXPECT_EQ(pointer(0x1b)->value, 0xffff'ffff'8000'0010u + kAddress);
  EXPECT_EQ(pointer(0x14)->value, value + kAddress);
  for (const std::uint8_t encoding : {0x02, 0x0a, 0x2b, 0x3b}) EXPECT_FALSE(pointer(encoding)) << int{encoding};
  EXPECT_FALSE(read_pointer(file, 9, kAddress, 0x00)) << "the file ends";
  EXPECT_FALSE(read_pointer(file, 13, kAddress, 0x0b));
}

TEST(CallFrames, a_name_that_stands_for_a_longer_one_stays_as_it_is) {
  MadeFile file;
  std::string name = "_Z1f1aIiiiiE";
  const std::string digits = "_0123456789";
  for (int level = 0; level < 11; ++level) {
    const std::string part = level == 0 ? "S0_" : "S" + std::string(1, "0123456789AB"[level]) + "_";
    name += "S_I" + part + part + part + part + "E";
  }
  ASSERT_LT(name.size(), 200u);
  const std::uint64_t names =
      file.add(std::string(1, '\0') + name + '\0' + "_ZNK3box4PairIiE3sumERKS1_" + '\0');
  const std::uint64_t symbols =
      file.add(std::vector{function_symbol(kFileAt, 16, 1),
                           function_symbol(kFileAt + 16, 16, static_cast<Elf64_Word>(name.size() + 2))});
  file.add_section(SHT_NULL, 0, 0);
  file.add_section(SHT_STRTAB, names, name.size() + 2);
  file.add_section(SHT_SYMTAB, symbols, 2 * sizeof(Elf64_Sym), 0, 1);
  const Content bytes = file.bytes();
  EXPECT_EQ(function_at(bytes, kFileAt).value().name, name);
  EXPECT_EQ(function_at(bytes, kFileAt + 16).value().name, "box::Pair<int>::sum");
}

TEST(CallFrames, names_of_the_table_of_all_symbols_come_first) {
  MadeFile file;
  const std::uint64_t names = file.add(std::string("\0whole\0exported\0other\0", 22));
  const std::uint64_t all = file.add(std::vector{function_symbol(kFileAt, 16, 1)});
  const std::uint64_t exported = file.add(std::vector{function_symbol(kFileAt, 16, 7), function_symbol(kFileAt + 16, 16, 16)});
  file.add_section(SHT_NULL, 0, 0);
  file.add_section(SHT_STRTAB, names, 22);
  file.add_section(SHT_SYMTAB, all, sizeof(Elf64_Sym), 0, 1);
  file.add_section(SHT_DYNSYM, exported, 2 * sizeof(Elf64_Sym), 0, 1);
  const Content bytes = file.bytes();
  EXPECT_EQ(function_at(bytes, kFileAt).value().name, "whole");
  EXPECT_EQ(function_at(bytes, kFileAt + 16).value().name, "other") << "it is exported only";
  EXPECT_EQ(exported_function(bytes, "exported").value().begin, kFileAt);
  EXPECT_FALSE(exported_function(bytes, "whole"));
}

// A DWARF 5 unit with `count` files that all have the same name; each takes four bytes in the table.
Content with_lines(const std::string& name, std::uint32_t count) {
  MadeFile file;
  std::string table;
  const auto number = [&](std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) table += static_cast<char>(value >> (8 * i));
  };
  // Instruction parameters and one folder, which also has that name.
  const std::string before("\1\1\1\xfb\x0e\x0d\0\1\1\1\1\0\0\0\1\0\0\1\1\1\x1f\1\0\0\0\0", 26);
  std::string files("\1\1\x1f", 3);
  files += static_cast<char>(0x80 | (count & 0x7f));
  files += static_cast<char>(0x80 | (count >> 7 & 0x7f));
  files += static_cast<char>(count >> 14);
  const std::uint64_t header_size = before.size() + files.size() + 4 * std::uint64_t{count};
  const std::string program("\0\x09\2\0\0\0\0\0\0\0\0\1\2\x10\0\1\1",
                            17);  // one row: line 1, 16 bytes of code
  number(2 + 2 + 4 + header_size + program.size(), 4);
  number(5, 2);
  number(8, 2);
  number(header_size, 4);
  table += before + files + std::string(4 * std::size_t{count}, '\0') + program;
  const std::string names("\0.debug_line\0.debug_line_str\0", 29);
  const std::uint64_t names_at = file.add(names), table_at = file.add(table), name_at = file.add(name + '\0');
  file.add_section(SHT_STRTAB, names_at, names.size());
  file.add_section(SHT_PROGBITS, table_at, table.size(), 1);
  file.add_section(SHT_PROGBITS, name_at, name.size() + 1, 13);
  return file.bytes();
}

TEST(LineTable, a_name_is_no_longer_than_a_path) {
  EXPECT_EQ(source_line(with_lines("dir/app.c", 2), 4), "app.c:1");
  // A hundred thousand files with names of 1 MiB would take 100 GiB.
  EXPECT_EQ(source_line(with_lines(std::string(1 << 20, 'a'), 100'000), 4), std::nullopt);
}

TEST(LineTable, a_unit_has_so_many_files_at_most) {
  EXPECT_EQ(source_line(with_lines("app.c", 100'000), 4), "app.c:1");
  EXPECT_EQ(source_line(with_lines("app.c", 1 << 18), 4), std::nullopt);
}

TEST(NeededLibraries, names_are_no_longer_than_a_path) {
  MadeFile file;
  constexpr std::uint64_t kNames = 4 << 20;
  const std::uint64_t names = file.add(std::string(kNames, 'a'));
  std::vector<Elf64_Dyn> entries(4'000, Elf64_Dyn{DT_NEEDED, {1}});
  entries.push_back({DT_STRTAB, {kFileAt + names}});
  entries.push_back({DT_STRSZ, {kNames}});
  const std::uint64_t dynamic = file.add(entries);
  file.add_part(PT_DYNAMIC, dynamic, entries.size() * sizeof(Elf64_Dyn));
  file.add_part(PT_LOAD, names, kNames);
  const auto found = supervisor::dynamic_names_of(written(file.bytes(), "long_names"));
  ASSERT_EQ(found.needed.size(), 4'000u);
  EXPECT_EQ(found.needed[0].size(), std::size_t{PATH_MAX});
}

// e_phoff is minus the size of a program header, modulo 2^64: the program headers end where the file begins.
TEST(Launcher, a_program_whose_parts_lie_before_its_beginning_is_refused) {
  MadeFile file;
  file.header.e_phoff = 0 - std::uint64_t{sizeof(Elf64_Phdr)};
  file.add(std::string(4096, '\0'));
  Content bytes = file.bytes();
  reinterpret_cast<Elf64_Ehdr*>(bytes.data())->e_phnum = 1;
  EXPECT_THAT(supervisor::inspect_program(written(bytes, "no_parts"), "/", nullptr).reason,
              testing::HasSubstr("is statically linked"));
}

}  // namespace
}  // namespace verbatim::code

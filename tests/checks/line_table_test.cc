// Source lines of addresses, for this test program itself, and for damaged files.
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "sim/supervisor/code/line_table.h"

namespace verbatim::code {
namespace {

std::vector<std::byte> file_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::vector<std::byte> bytes;
  for (std::istreambuf_iterator<char> it(stream), end; it != end; ++it) bytes.push_back(static_cast<std::byte>(*it));
  return bytes;
}

// The address of a function by its name in the symbol table.
std::uint64_t address_of(const std::vector<std::byte>& file, const std::string& name) {
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section, names;
    std::memcpy(&section, file.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_SYMTAB) continue;
    std::memcpy(&names, file.data() + header.e_shoff + section.sh_link * sizeof names, sizeof names);
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, file.data() + section.sh_offset + at, sizeof symbol);
      if (name == reinterpret_cast<const char*>(file.data() + names.sh_offset + symbol.st_name)) return symbol.st_value;
    }
  }
  return 0;
}

// The line on which main() begins, as a reader of the source counts it.
int line_of_main(const std::string& source) {
  std::ifstream stream(source);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.starts_with("int main(")) return number;
  }
  return 0;
}

TEST(LineTable, tells_the_line_of_a_function_whatever_the_version_of_the_format) {
  for (const char* name : {"/hangs", "/hangs_dwarf4"}) {
    const std::vector<std::byte> file = file_of(std::string(CHECKS_FOLDER) + name);
    const std::uint64_t main_at = address_of(file, "main");
    ASSERT_NE(main_at, 0u) << name;
    const int line = line_of_main(VERBATIM_SOURCE_DIR "/tests/checks/hangs.c");
    EXPECT_EQ(source_line(file, main_at), "hangs.c:" + std::to_string(line)) << name;
  }
}

// Without optimisation, inline functions of headers are ordinary functions, placed after other code.
TEST(LineTable, a_function_of_a_header_is_no_line_of_the_function_before_it) {
  const std::vector<std::byte> file = file_of(std::string(CHECKS_FOLDER) + "/hangs_plain");
  const std::uint64_t post_at = address_of(file, "ibv_post_send");
  ASSERT_NE(post_at, 0u);
  EXPECT_EQ(source_line(file, post_at).value_or("").substr(0, 8), "verbs.h:");
  const int line = line_of_main(VERBATIM_SOURCE_DIR "/tests/checks/hangs.c");
  EXPECT_EQ(source_line(file, address_of(file, "main")), "hangs.c:" + std::to_string(line));
}

TEST(LineTable, says_nothing_of_what_it_does_not_know) {
  EXPECT_EQ(source_line({}, 0), std::nullopt);
  const std::vector<std::byte> file = file_of(std::string(CHECKS_FOLDER) + "/hangs");
  EXPECT_EQ(source_line(file, 0), std::nullopt);
  EXPECT_EQ(source_line(file, ~0ull), std::nullopt);
}

TEST(LineTable, damaged_files_are_read_without_harm) {
  const std::vector<std::byte> file = file_of(std::string(CHECKS_FOLDER) + "/hangs");
  const std::uint64_t main_at = address_of(file, "main");
  for (std::size_t size = 0; size < file.size(); size += file.size() / 97 + 1) {
    source_line(std::span(file).first(size), main_at);
  }
  std::uint64_t random = 1;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> damaged = file;
    for (int i = 0; i < 50; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      damaged[(random >> 20) % damaged.size()] = static_cast<std::byte>(random >> 56);
    }
    source_line(damaged, main_at);
  }
}

}  // namespace
}  // namespace verbatim::code

// Target addresses of each part of a program, whatever addresses the kernel chose.
#include "sim/supervisor/machine/memory_places.h"

#include <gtest/gtest.h>

#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {
namespace {

Elf64_Phdr part(std::uint64_t offset, std::uint64_t address, std::uint64_t in_file, std::uint64_t in_memory,
                std::uint64_t alignment = 4096) {
  Elf64_Phdr header{};
  header.p_type = PT_LOAD;
  header.p_offset = offset, header.p_vaddr = address, header.p_filesz = in_file, header.p_memsz = in_memory;
  header.p_align = alignment;
  return header;
}

// A program of 0x3100 bytes, its loader of 0x2000, and a stack, at the addresses that the kernel drew.
struct Drawn {
  std::uint64_t program = 0x5604'1234'5000, loader = 0x7f12'3456'7000, stack = 0x7ffd'1111'0000;
  std::uint64_t first_address = 0;  // of the program in its file
  std::uint64_t alignment = 4096;

  std::optional<Places> places() const {
    // The second part begins in the page of the file in which the first one ends, as linkers like to have it.
    const Elf64_Phdr program_parts[] = {part(0, first_address, 0x1800, 0x1800, alignment),
                                        part(0x1800, first_address + 0x2800, 0x600, 0x900, alignment)};
    const Elf64_Phdr loader_parts[] = {part(0, 0, 0x1000, 0x1000), part(0x1000, 0x1000, 0x800, 0x900)};
    const std::vector<Mapping> all = {{program, program + 0x2000, 0, false, true, "/bin/program"},
                                      {program + 0x2000, program + 0x4000, 0x1000, true, false, "/bin/program"},
                                      {loader, loader + 0x1000, 0, false, true, "/lib/loader"},
                                      {loader + 0x1000, loader + 0x2000, 0x1000, true, false, "/lib/loader"},
                                      {stack, stack + 0x21000, 0, true, false, "[stack]"}};
    return places_of(all, {.program_headers_at = program + 64,
                           .loader_base = loader,
                           .stack_pointer = stack + 0x1f000,
                           .program = program_parts,
                           .loader = loader_parts},
                     protocol::kLibrariesEnd);
  }
};

TEST(MemoryPlaces, are_the_same_whatever_was_drawn) {
  const Drawn other{.program = 0x5555'5555'4000, .loader = 0x7fff'f7ff'd000, .stack = 0x7fff'fffd'e000};
  for (const auto& places : {Drawn{}.places(), other.places()}) {
    ASSERT_TRUE(places);
    EXPECT_EQ(places->program.target(), 0x5555'5555'4000u);
    EXPECT_EQ(places->program_break, 0x5555'5555'8000u);
    EXPECT_EQ(places->loader.end + places->loader.by, protocol::kLibrariesEnd);
    EXPECT_EQ(places->stack.end + places->stack.by, protocol::kAddressSpaceEnd);
  }
  EXPECT_TRUE(Drawn{}.places()->were_random);
  EXPECT_FALSE(other.places()->were_random);
}

TEST(MemoryPlaces, of_a_program_at_fixed_addresses_are_its_own) {
  const auto places = Drawn{.program = 0x40'0000, .first_address = 0x40'0000}.places();
  ASSERT_TRUE(places);
  EXPECT_EQ(places->program.by, 0u);
  EXPECT_EQ(places->program_break, 0x40'4000u);
  EXPECT_TRUE(places->were_random);
}

TEST(MemoryPlaces, are_aligned_as_the_program_asks) {
  EXPECT_EQ((Drawn{.program = 0x5604'1220'0000, .alignment = 2 << 20}.places()->program.target()), 0x5555'5540'0000u);
}

TEST(MemoryPlaces, need_the_headers_in_memory) {
  const Elf64_Phdr parts[] = {part(0, 0, 0x1000, 0x1000)};
  const std::vector<Mapping> all = {{0x1000, 0x2000, 0, false, true, "/bin/program"}};
  const auto with = [&](std::uint64_t headers, std::uint64_t stack) {
    return places_of(all, {.program_headers_at = headers, .stack_pointer = stack, .program = parts, .loader = parts},
                     protocol::kLibrariesEnd);
  };
  EXPECT_FALSE(with(0x3000, 0x1000));
  EXPECT_FALSE(with(0x1040, 0x3000));
  EXPECT_TRUE(with(0x1040, 0x1000));
}

TEST(MemoryPlaces, move_what_belongs_to_a_part_and_its_end) {
  const Move move{0x1000, 0x3000, 0x10000};
  EXPECT_EQ(move.moved(0x1000), 0x11000u);
  EXPECT_EQ(move.moved(0x3000), 0x13000u);
  EXPECT_EQ(move.moved(0xfff), 0xfffu);
  EXPECT_EQ(move.moved(0x3001), 0x3001u);
}

TEST(FreeRanges, are_what_nothing_lies_in) {
  using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  const std::vector<Mapping> all = {{10, 20, 0, false, false, ""}, {20, 25, 0, false, false, ""}, {30, 40, 0, false, false, ""}};
  EXPECT_EQ(free_ranges(all, 0, 50), (Ranges{{0, 10}, {25, 30}, {40, 50}}));
  EXPECT_EQ(free_ranges(all, 15, 35), (Ranges{{25, 30}}));
  EXPECT_EQ(free_ranges(all, 10, 25), Ranges{});
  EXPECT_EQ(free_ranges({}, 5, 6), (Ranges{{5, 6}}));
}

}  // namespace
}  // namespace verbatim::supervisor

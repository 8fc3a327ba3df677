// The CPUID values that programs see.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "sim/supervisor/code/processor.h"

namespace verbatim::code {
namespace {

protocol::CpuidEntry ask(const std::vector<protocol::CpuidEntry>& table, std::uint32_t leaf, std::uint32_t subleaf = 0) {
  for (const protocol::CpuidEntry& entry : table) {
    if ((entry.flags & protocol::kLastCpuidEntry) != 0) return entry;
    if (entry.leaf == leaf && ((entry.flags & protocol::kAnySubleaf) != 0 || entry.subleaf == subleaf)) return entry;
  }
  ADD_FAILURE() << "the table does not end";
  return {};
}

// Bits of the levels as the psABI lists them (x86-64 psABI, 3.1.1).
constexpr std::uint32_t kV2Ecx = 1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23;
constexpr std::uint32_t kV3Ecx = 1u << 12 | 1u << 22 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 29;
constexpr std::uint32_t kV3Leaf7 = 1u << 3 | 1u << 5 | 1u << 8;

TEST(Processor, the_levels_have_their_features_and_no_other) {
  constexpr std::uint32_t kRdrand = 1u << 30, kRdseed = 1u << 18;
  const auto v2 = cpuid_table(InstructionSet::kX86_64V2, 2'000'000'000);
  EXPECT_EQ(ask(v2, 1).ecx, kV2Ecx | kRdrand);
  EXPECT_EQ(ask(v2, 7).ebx, kRdseed);
  const auto v3 = cpuid_table(InstructionSet::kX86_64V3, 2'000'000'000);
  EXPECT_EQ(ask(v3, 1).ecx, kV2Ecx | kV3Ecx | kRdrand);
  EXPECT_EQ(ask(v3, 7).ebx, kV3Leaf7 | kRdseed);
  EXPECT_EQ(ask(v3, 0x8000'0001).ecx, 1u | 1u << 5);
}

TEST(Processor, extended_state_is_that_of_the_level) {
  EXPECT_EQ(extended_control(InstructionSet::kX86_64V2), 0u);
  EXPECT_EQ(extended_control(InstructionSet::kX86_64V3), 7u) << "x87, SSE and AVX";
}

TEST(Processor, tables_fit_and_end) {
  for (const InstructionSet set : {InstructionSet::kX86_64V2, InstructionSet::kX86_64V3}) {
    const auto table = cpuid_table(set, 2'100'000'000);
    EXPECT_LE(table.size(), protocol::kMaxCpuidEntries);
    EXPECT_EQ(table.back().flags, protocol::kLastCpuidEntry);
    EXPECT_EQ(std::count_if(table.begin(), table.end(), [](const auto& e) { return (e.flags & 2) != 0; }), 1);
  }
}

TEST(Processor, its_counter_has_the_frequency_of_the_profile) {
  const auto leaf = ask(cpuid_table(InstructionSet::kX86_64V2, 2'100'000'000), 0x15);
  EXPECT_EQ(std::uint64_t{leaf.ecx} * leaf.ebx / leaf.eax, 2'100'000'000u);
}

TEST(Processor, caches_are_as_large_as_told) {
  const auto table = cpuid_table(InstructionSet::kX86_64V2, 2'000'000'000);
  for (std::uint32_t i = 0; i < std::size(kCaches); ++i) {
    const auto leaf = ask(table, 4, i);
    const std::uint32_t ways = (leaf.ebx >> 22) + 1, line = (leaf.ebx & 0xfff) + 1, sets = leaf.ecx + 1;
    EXPECT_EQ(ways * line * sets, kCaches[i].kilobytes * 1024);
    EXPECT_EQ(leaf.eax >> 5 & 7, kCaches[i].level);
  }
  EXPECT_EQ(ask(table, 4, std::size(kCaches)).eax & 31, 0u) << "no further cache";
}

TEST(Processor, programs_that_ask_for_all_extended_state_have_room_for_it) {
  const auto leaf = ask(cpuid_table(InstructionSet::kX86_64V3, 2'000'000'000), 0xd);
  EXPECT_GE(leaf.ebx, 2696u) << "AVX-512 and protection keys in the standard form";
  EXPECT_EQ(leaf.eax, extended_control(InstructionSet::kX86_64V3));
}

TEST(Processor, this_machine_has_the_default) { EXPECT_TRUE(lacking_here(InstructionSet::kX86_64V2).empty()); }

TEST(Processor, flags_are_named_as_linux_does) {
  const std::string line = flags_line(InstructionSet::kX86_64V2);
  EXPECT_NE(line.find(" sse4_2 "), std::string::npos);
  EXPECT_EQ(line.find("avx"), std::string::npos);
  EXPECT_NE(flags_line(InstructionSet::kX86_64V3).find(" avx2"), std::string::npos);
}

}  // namespace
}  // namespace verbatim::code

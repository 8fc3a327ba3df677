#include "sim/supervisor/code/processor.h"

#include <cpuid.h>

#include <array>
#include <cstring>

namespace verbatim::code {

namespace {

enum class Word { kLeaf1Edx, kLeaf1Ecx, kLeaf7Ebx, kExtendedEcx, kExtendedEdx };

struct Feature {
  const char* name;  // as in /proc/cpuinfo
  Word word;
  unsigned bit;
  int level;      // psABI level; 1: every x86-64 processor
  bool answered;  // emulated by the simulator, whether or not the machine has it
};

// Level 1 first, in Linux's order. Without erms, since the interpreter of waiting loops does not know fast
// string operations; without AVX-512; without fsgsbase, which the kernel must enable.
constexpr Feature kFeatures[] = {
    {"fpu", Word::kLeaf1Edx, 0, 1, false},        {"vme", Word::kLeaf1Edx, 1, 1, true},
    {"de", Word::kLeaf1Edx, 2, 1, true},          {"pse", Word::kLeaf1Edx, 3, 1, true},
    {"tsc", Word::kLeaf1Edx, 4, 1, true},         {"msr", Word::kLeaf1Edx, 5, 1, true},
    {"pae", Word::kLeaf1Edx, 6, 1, true},         {"mce", Word::kLeaf1Edx, 7, 1, true},
    {"cx8", Word::kLeaf1Edx, 8, 1, false},        {"apic", Word::kLeaf1Edx, 9, 1, true},
    {"sep", Word::kLeaf1Edx, 11, 1, true},        {"mtrr", Word::kLeaf1Edx, 12, 1, true},
    {"pge", Word::kLeaf1Edx, 13, 1, true},        {"mca", Word::kLeaf1Edx, 14, 1, true},
    {"cmov", Word::kLeaf1Edx, 15, 1, false},      {"pat", Word::kLeaf1Edx, 16, 1, true},
    {"pse36", Word::kLeaf1Edx, 17, 1, true},      {"clflush", Word::kLeaf1Edx, 19, 1, false},
    {"mmx", Word::kLeaf1Edx, 23, 1, false},       {"fxsr", Word::kLeaf1Edx, 24, 1, false},
    {"sse", Word::kLeaf1Edx, 25, 1, false},       {"sse2", Word::kLeaf1Edx, 26, 1, false},
    {"syscall", Word::kExtendedEdx, 11, 1, true}, {"nx", Word::kExtendedEdx, 20, 1, true},
    {"rdtscp", Word::kExtendedEdx, 27, 1, true},  {"lm", Word::kExtendedEdx, 29, 1, true},
    {"pni", Word::kLeaf1Ecx, 0, 2, false},        {"ssse3", Word::kLeaf1Ecx, 9, 2, false},
    {"fma", Word::kLeaf1Ecx, 12, 3, false},       {"cx16", Word::kLeaf1Ecx, 13, 2, false},
    {"sse4_1", Word::kLeaf1Ecx, 19, 2, false},    {"sse4_2", Word::kLeaf1Ecx, 20, 2, false},
    {"movbe", Word::kLeaf1Ecx, 22, 3, false},     {"popcnt", Word::kLeaf1Ecx, 23, 2, false},
    {"xsave", Word::kLeaf1Ecx, 26, 3, false},     {"osxsave", Word::kLeaf1Ecx, 27, 3, false},
    {"avx", Word::kLeaf1Ecx, 28, 3, false},       {"f16c", Word::kLeaf1Ecx, 29, 3, false},
    {"rdrand", Word::kLeaf1Ecx, 30, 1, true},     {"lahf_lm", Word::kExtendedEcx, 0, 2, false},
    {"abm", Word::kExtendedEcx, 5, 3, false},     {"bmi1", Word::kLeaf7Ebx, 3, 3, false},
    {"avx2", Word::kLeaf7Ebx, 5, 3, false},       {"bmi2", Word::kLeaf7Ebx, 8, 3, false},
    {"rdseed", Word::kLeaf7Ebx, 18, 1, true},
};

int level_of(InstructionSet set) { return set == InstructionSet::kX86_64V2 ? 2 : 3; }

std::uint32_t word_of(InstructionSet set, Word word) {
  std::uint32_t bits = 0;
  for (const Feature& feature : kFeatures) {
    if (feature.word == word && feature.level <= level_of(set)) bits |= 1u << feature.bit;
  }
  return bits;
}

constexpr std::uint32_t kHighestLeaf = 0x16, kHighestExtended = 0x8000'0008;
constexpr std::uint32_t kSignature = 0x0006'06a0;  // family 6, model 106, stepping 0, as in /proc/cpuinfo
constexpr std::uint32_t kExtendedState = 7;        // x87, SSE, AVX
// Standard form of the XSAVE area up to PKRU: large enough to save every register of any machine of today.
constexpr std::uint32_t kExtendedStateSize = 2696, kAvxStateSize = 256, kAvxStateOffset = 576;

protocol::CpuidEntry entry(std::uint32_t leaf, std::uint32_t eax, std::uint32_t ebx, std::uint32_t ecx,
                           std::uint32_t edx) {
  return {leaf, 0, protocol::kAnySubleaf, eax, ebx, ecx, edx, 0};
}
protocol::CpuidEntry entry_of(std::uint32_t leaf, std::uint32_t subleaf, std::uint32_t eax, std::uint32_t ebx,
                              std::uint32_t ecx, std::uint32_t edx) {
  return {leaf, subleaf, 0, eax, ebx, ecx, edx, 0};
}

protocol::CpuidEntry cache_entry(std::uint32_t index, const Cache& cache) {
  const std::uint32_t type = cache.type[0] == 'D' ? 1 : cache.type[0] == 'I' ? 2 : 3;
  const std::uint32_t sets = cache.kilobytes * 1024 / cache.ways / kCacheLine;
  constexpr std::uint32_t kSelfInitializing = 1 << 8;
  return entry_of(4, index, type | cache.level << 5 | kSelfInitializing, (kCacheLine - 1) | (cache.ways - 1) << 22,
                  sets - 1, 0);
}

}  // namespace

std::string name_of(InstructionSet set) { return set == InstructionSet::kX86_64V2 ? "x86-64-v2" : "x86-64-v3"; }

std::vector<protocol::CpuidEntry> cpuid_table(InstructionSet set, std::uint64_t hz) {
  std::vector<protocol::CpuidEntry> table;
  table.push_back(entry(0, kHighestLeaf, 0x756e'6547, 0x6c65'746e, 0x4965'6e69));  // "GenuineIntel"
  constexpr std::uint32_t kLineInEights = kCacheLine / 8 << 8, kOneProcessor = 1 << 16;
  table.push_back(entry(1, kSignature, kLineInEights | kOneProcessor, word_of(set, Word::kLeaf1Ecx),
                        word_of(set, Word::kLeaf1Edx)));
  table.push_back(entry(2, 0x00fe'ff01, 0, 0, 0));  // caches: see leaf 4
  for (std::uint32_t i = 0; i < std::size(kCaches); ++i) table.push_back(cache_entry(i, kCaches[i]));
  table.push_back(entry_of(7, 0, 0, word_of(set, Word::kLeaf7Ebx), 0, 0));
  // One thread, one core.
  table.push_back(entry_of(0xb, 0, 0, 1, 0x100, 0));
  table.push_back(entry_of(0xb, 1, 0, 1, 0x201, 0));
  if (extended_control(set) != 0) {
    table.push_back(entry_of(0xd, 0, kExtendedState, kExtendedStateSize, kExtendedStateSize, 0));
    table.push_back(entry_of(0xd, 2, kAvxStateSize, kAvxStateOffset, 0, 0));
  }
  const std::uint64_t megahertz = hz / 1'000'000;
  if (hz % 1'000'000 == 0) table.push_back(entry(0x15, 1, static_cast<std::uint32_t>(megahertz), 1'000'000, 0));
  table.push_back(entry(0x16, static_cast<std::uint32_t>(megahertz), static_cast<std::uint32_t>(megahertz), 100, 0));
  table.push_back(entry(0x8000'0000, kHighestExtended, 0, 0, 0));
  table.push_back(entry(0x8000'0001, 0, 0, word_of(set, Word::kExtendedEcx), word_of(set, Word::kExtendedEdx)));
  char brand[48] = "Verbatim virtual processor";
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::uint32_t words[4];
    std::memcpy(words, brand + 16 * i, sizeof words);
    table.push_back(entry(0x8000'0002 + i, words[0], words[1], words[2], words[3]));
  }
  constexpr std::uint32_t kSeeLeaf4 = 7 << 12;
  table.push_back(entry(0x8000'0006, 0, 0, kCaches[2].kilobytes << 16 | kSeeLeaf4 | kCacheLine, 0));
  table.push_back(entry(0x8000'0007, 0, 0, 0, 1 << 8));  // the time stamp counter is invariant
  table.push_back(entry(0x8000'0008, 48 << 8 | 46, 0, 0, 0));
  protocol::CpuidEntry last{};
  last.flags = protocol::kLastCpuidEntry;
  table.push_back(last);
  return table;
}

std::uint32_t hardware_capabilities() { return word_of(InstructionSet::kX86_64V2, Word::kLeaf1Edx); }

std::uint32_t extended_control(InstructionSet set) { return set == InstructionSet::kX86_64V3 ? kExtendedState : 0; }

std::string flags_line(InstructionSet set) {
  std::string line;
  for (const Feature& feature : kFeatures) {
    if (feature.level > level_of(set) || std::strcmp(feature.name, "osxsave") == 0) continue;
    line += line.empty() ? feature.name : std::string(" ") + feature.name;
    if (std::strcmp(feature.name, "lm") == 0) line += " constant_tsc nonstop_tsc";
  }
  return line;
}

namespace {

using Leaves = std::array<std::uint32_t, 5>;

Leaves words_of_this_processor() {
  Leaves words = {};
  std::uint32_t a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) {
    words[static_cast<int>(Word::kLeaf1Ecx)] = c;
    words[static_cast<int>(Word::kLeaf1Edx)] = d;
  }
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) words[static_cast<int>(Word::kLeaf7Ebx)] = b;
  if (__get_cpuid(0x8000'0001, &a, &b, &c, &d) != 0) {
    words[static_cast<int>(Word::kExtendedEcx)] = c;
    words[static_cast<int>(Word::kExtendedEdx)] = d;
  }
  return words;
}

}  // namespace

std::vector<std::string> lacking_here(InstructionSet set) {
  static const Leaves words = words_of_this_processor();  // a hypervisor takes 30 us for each word
  std::vector<std::string> lacking;
  for (const Feature& feature : kFeatures) {
    if (feature.answered || feature.level > level_of(set)) continue;
    if ((words[static_cast<int>(feature.word)] >> feature.bit & 1) == 0) lacking.push_back(feature.name);
  }
  return lacking;
}

}  // namespace verbatim::code

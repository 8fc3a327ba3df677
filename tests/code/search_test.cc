// Search for instructions whose result depends on the machine, and for space for jumps that replace them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "sim/supervisor/code/code_search.h"

namespace verbatim::code {
namespace {

using protocol::DecidedInstruction;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kAt = 0x401000;

SearchResult search(const Bytes& code) { return search_memory(kAt, std::as_bytes(std::span(code))); }

// The only site of the code.
Site only_site(const Bytes& code) {
  const SearchResult result = search(code);
  EXPECT_EQ(result.sites.size(), 1u);
  return result.sites.empty() ? Site{} : result.sites[0];
}

TEST(CodeSearch, each_instruction_is_found_with_its_operands) {
  struct Case {
    Bytes code;
    DecidedInstruction kind;
    unsigned destination, size, source;
  };
  const Case cases[] = {{{0x0f, 0x31}, DecidedInstruction::kRdtsc, 0, 0, 0},
                        {{0x0f, 0x01, 0xf9}, DecidedInstruction::kRdtscp, 0, 0, 0},
                        {{0x0f, 0x01, 0xfd}, DecidedInstruction::kRdpru, 0, 0, 0},
                        {{0x0f, 0xa2}, DecidedInstruction::kCpuid, 0, 0, 0},
                        {{0x0f, 0x01, 0xd0}, DecidedInstruction::kXgetbv, 0, 0, 0},
                        {{0x0f, 0xc7, 0xf1}, DecidedInstruction::kRdrand, 1, 4, 0},
                        {{0x48, 0x0f, 0xc7, 0xf3}, DecidedInstruction::kRdrand, 3, 8, 0},
                        {{0x66, 0x41, 0x0f, 0xc7, 0xf0}, DecidedInstruction::kRdrand, 8, 2, 0},
                        {{0x49, 0x0f, 0xc7, 0xff}, DecidedInstruction::kRdseed, 15, 8, 0},
                        {{0xf3, 0x0f, 0xc7, 0xf8}, DecidedInstruction::kRdpid, 0, 8, 0},
                        {{0x0f, 0x03, 0xc1}, DecidedInstruction::kLsl, 0, 4, 1}};
  for (const Case& one : cases) {
    Bytes code = one.code;
    code.push_back(0xc3);
    const Site site = only_site(code);
    EXPECT_EQ(site.address, kAt);
    EXPECT_EQ(site.length, one.code.size()) << name_of(one.kind);
    EXPECT_EQ(site.instruction.kind, one.kind) << name_of(one.kind);
    EXPECT_EQ(site.instruction.destination, one.destination) << name_of(one.kind);
    EXPECT_EQ(site.instruction.source, one.source) << name_of(one.kind);
    EXPECT_EQ(site.instruction.size, one.size) << name_of(one.kind);
    EXPECT_EQ(protocol::PatchedInstruction::of(site.instruction.word()).word(), site.instruction.word());
  }
}

TEST(CodeSearch, the_same_bytes_inside_another_instruction_are_none) {
  EXPECT_TRUE(search({0xb8, 0x0f, 0x31, 0x0f, 0xa2, 0xc3}).sites.empty());        // mov $0xa20f310f, %eax
  EXPECT_TRUE(search({0x48, 0x8d, 0x05, 0x0f, 0xa2, 0, 0, 0xc3}).sites.empty());  // lea 0xa20f(%rip), %rax
  EXPECT_TRUE(search({0x0f, 0xc7, 0x37, 0xc3}).sites.empty());                    // vmptrld (%rdi)
}

// rdtsc; shl $32, %rdx; or %rdx, %rax; ret
TEST(CodeSearch, a_jump_takes_whole_instructions) {
  EXPECT_EQ(only_site({0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0xc3}).jump_length, 6u);
}

TEST(CodeSearch, no_jump_where_the_function_ends) {
  EXPECT_EQ(only_site({0x0f, 0x31, 0xc3}).jump_length, 0u);
  EXPECT_EQ(only_site({0x0f, 0x31, 0x89, 0xc0}).jump_length, 0u);
}

// rdtsc; jmp or call or ret within the five bytes
TEST(CodeSearch, no_jump_over_a_branch) {
  EXPECT_EQ(only_site({0x0f, 0x31, 0xeb, 0x02, 0x90, 0x90, 0x90, 0xc3}).jump_length, 0u);
  EXPECT_EQ(only_site({0x0f, 0x31, 0xe8, 0, 0, 0, 0, 0xc3}).jump_length, 0u);
  EXPECT_EQ(only_site({0x0f, 0x31, 0x89, 0xc0, 0xc3, 0x90, 0x90}).jump_length, 0u);
}

TEST(CodeSearch, no_jump_where_somebody_jumps_between_the_instructions) {
  // jmp to the shl behind rdtsc
  const Bytes entered = {0xeb, 0x02, 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0xc3};
  EXPECT_EQ(only_site(entered).jump_length, 0u);
  // A jump to the rdtsc itself does not prevent the replacement.
  const Bytes at_start = {0xeb, 0x00, 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0xc3};
  EXPECT_EQ(only_site(at_start).jump_length, 6u);
}

TEST(CodeSearch, no_jump_over_another_such_instruction) {
  const SearchResult result = search({0x0f, 0xa2, 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0xc3});
  ASSERT_EQ(result.sites.size(), 2u);
  EXPECT_EQ(result.sites[0].jump_length, 0u);
  EXPECT_EQ(result.sites[1].jump_length, 6u);
}

// In a function with indirect jumps, the following instruction may be a case of a switch, unless it uses the
// result.
TEST(CodeSearch, in_a_function_with_indirect_jumps_what_follows_must_use_the_result) {
  EXPECT_EQ(only_site({0xff, 0xe7, 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0xc3}).jump_length, 6u);
  EXPECT_EQ(only_site({0xff, 0xe7, 0x0f, 0x31, 0x48, 0x83, 0xc6, 0x20, 0xc3}).jump_length, 0u);
}

TEST(CodeSearch, instructions_have_their_place_in_the_code) {
  const Site site = only_site({0x90, 0x90, 0x0f, 0x31, 0xc3});
  EXPECT_EQ(site.address, kAt + 2);
  EXPECT_EQ(site.offset, 2u);
}

// 06 is no instruction: it is unknown where the next one begins.
TEST(CodeSearch, bytes_behind_what_is_no_instruction_are_doubts) {
  const SearchResult result = search({0x90, 0x06, 0x0f, 0x31, 0xc3});
  EXPECT_TRUE(result.sites.empty());
  ASSERT_EQ(result.doubts.size(), 1u);
  EXPECT_EQ(result.doubts[0].address, kAt + 2);
  EXPECT_EQ(result.doubts[0].offset, 2u);
  EXPECT_EQ(result.doubts[0].kind, DecidedInstruction::kRdtsc);
}

TEST(CodeSearch, addresses_relative_to_rip_are_noted) {
  // rdtsc; mov %eax, 0x10(%rip); ret
  const Site site = only_site({0x0f, 0x31, 0x89, 0x05, 0x10, 0, 0, 0, 0xc3});
  EXPECT_EQ(site.jump_length, 8u);
  ASSERT_EQ(site.relatives.size(), 1u);
  EXPECT_EQ(site.relatives[0].at, 4u);
  EXPECT_EQ(site.relatives[0].end, 8u);
}

// Functions of this program with system calls. They are far from other code, whose bytes could look like
// short jumps into them.
extern "C" {
extern const char call_loaded[], call_with_argument[], call_compared[], call_compared_in_switch[], call_entered[],
    call_in_switch[], call_of_another_number[], call_alone[], call_in_constant[],
    call_beside_constant[], call_entered_from_outside[], call_entered_from_afar[], call_entered_at_its_load[];
}
asm(R"(
  .text
  .macro function name
  .globl \name
  .type \name, @function
  \name:
  .endm
  .skip 200, 0x90
  function call_loaded
  mov $39, %eax
  syscall
  ret
  .size call_loaded, . - call_loaded
  function call_with_argument
  mov 8(%rsp), %r9
  syscall
  ret
  .size call_with_argument, . - call_with_argument
  function call_compared
  xor %eax, %eax
  syscall
  cmp $-4095, %rax
  ret
  .size call_compared, . - call_compared
  function call_compared_in_switch
  jmp *%rdi
  xor %eax, %eax
  syscall
  cmp $-4095, %rax
  ret
  .size call_compared_in_switch, . - call_compared_in_switch
  function call_entered
  test %edi, %edi
  je 1f
  mov $39, %eax
1:
  syscall
  ret
  .size call_entered, . - call_entered
  function call_in_switch
  jmp *%rdi
  mov $39, %eax
  syscall
  ret
  .size call_in_switch, . - call_in_switch
  function call_of_another_number
  mov $56, %eax
  syscall
  cmp $-4095, %rax
  ret
  .size call_of_another_number, . - call_of_another_number
  function call_alone
  xor %eax, %eax
  syscall
  ret
  .size call_alone, . - call_alone
  function call_in_constant
  mov $0x050f0000, %eax
  cmp $-4095, %rax
  ret
  .size call_in_constant, . - call_in_constant
  function call_beside_constant
  mov $39, %eax
  syscall
  ret
  .size call_beside_constant, . - call_beside_constant
  function like_jump
  mov $0x90f8eb90, %eax  # its bytes "eb f8" would lead into the load
  ret
  .size like_jump, . - like_jump
  function call_entered_from_outside
  mov $39, %eax
1:
  syscall
  ret
  .size call_entered_from_outside, . - call_entered_from_outside
  function jump_from_outside
  jmp 1b
  .size jump_from_outside, . - jump_from_outside
  function call_entered_from_afar
  mov $39, %eax
2:
  syscall
  ret
  .size call_entered_from_afar, . - call_entered_from_afar
  function long_jumps
  .byte 0xe9
  .long 2b - . - 4
  .byte 0xe9
  .long 3f - . - 4
  .size long_jumps, . - long_jumps
  function call_entered_at_its_load
3:
  mov $39, %eax
  syscall
  ret
  .size call_entered_at_its_load, . - call_entered_at_its_load
  .skip 200, 0x90
)");
extern "C" const char __executable_start[];

TEST(CodeSearch, calls_are_replaced_with_what_loads_their_number_or_compares_their_result) {
  std::ifstream stream("/proc/self/exe", std::ios::binary);
  const std::vector<char> file((std::istreambuf_iterator<char>(stream)), {});
  const auto image = ElfImage::read(std::as_bytes(std::span(file)));
  ASSERT_TRUE(image);
  const std::vector<CallSite> calls = search_calls(*image, std::as_bytes(std::span(file)));
  // Addresses in the file are memory addresses minus the load address, unless the program is linked at a
  // fixed address.
  const auto start = reinterpret_cast<std::uint64_t>(__executable_start);
  const std::uint64_t base = start == 0x400000 ? 0 : start;
  const auto found_in = [&](const char* function, std::uint64_t length) -> const CallSite* {
    const std::uint64_t begin = reinterpret_cast<std::uint64_t>(function) - base;
    const auto it = std::ranges::find_if(
        calls, [&](const CallSite& call) { return call.address >= begin && call.address < begin + length; });
    return it == calls.end() ? nullptr : &*it;
  };
  const auto address = [&](const char* function, std::uint64_t offset) {
    return reinterpret_cast<std::uint64_t>(function) - base + offset;
  };
  for (const char* const function : {call_loaded, call_with_argument, call_beside_constant, call_entered_at_its_load}) {
    const CallSite* const call = found_in(function, 7);
    ASSERT_NE(call, nullptr);
    EXPECT_EQ(call->address, address(function, 0));
    EXPECT_EQ(call->call_at, CallSite::kBehindLoad);
    EXPECT_EQ(call->bytes.size(), 7u);
    EXPECT_EQ(call->next(), address(function, 7));
  }
  const std::pair<const char*, unsigned> compared[] = {{call_compared, 2}, {call_compared_in_switch, 4}};
  for (const auto& [function, offset] : compared) {
    const CallSite* const call = found_in(function, 12);
    ASSERT_NE(call, nullptr);
    EXPECT_EQ(call->address, address(function, offset));
    EXPECT_EQ(call->call_at, 0u);
    EXPECT_EQ(call->bytes.size(), 8u);
    EXPECT_EQ(call->next(), address(function, offset + 2));
  }
  for (const char* const function :
       {call_entered, call_entered_from_outside, call_entered_from_afar, call_in_switch, call_of_another_number, call_alone,
        call_in_constant})
    EXPECT_EQ(found_in(function, 10), nullptr) << function - call_loaded;
}

TEST(CodeSearch, damaged_files_are_survived) {
  std::ifstream stream("/proc/self/exe", std::ios::binary);
  std::vector<char> good((std::istreambuf_iterator<char>(stream)), {});
  ASSERT_GT(good.size(), 4096u);
  std::uint64_t state = 1;
  for (int round = 0; round < 200; ++round) {
    std::vector<char> bad = good;
    for (int i = 0; i < 20; ++i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      // Damages ELF headers at the beginning and section headers at the end.
      const std::size_t at = (state >> 33) % 4096;
      bad[i % 2 == 0 ? at : bad.size() - 1 - at] = static_cast<char>(state >> 20);
    }
    if (round % 4 == 0) bad.resize(bad.size() / 4 * static_cast<std::size_t>(round % 4));
    if (const auto image = ElfImage::read(std::as_bytes(std::span(bad)))) {
      search_image(*image, std::as_bytes(std::span(bad)));
      search_calls(*image, std::as_bytes(std::span(bad)));
    }
  }
}

// Compares the results for system libraries to objdump, which decodes a section linearly. objdump also
// decodes data in code, but at addresses outside functions; all others must have been found.
TEST(CodeSearch, libraries_of_the_machine_as_objdump_reads_them) {
  if (std::system("command -v objdump >/dev/null") != 0) GTEST_SKIP() << "there is no objdump";
  int compared = 0;
  for (const char* const path : {"/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6",
                                 "/lib/x86_64-linux-gnu/libgcc_s.so.1", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"}) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) continue;
    const std::vector<char> file((std::istreambuf_iterator<char>(stream)), {});
    const auto image = ElfImage::read(std::as_bytes(std::span(file)));
    ASSERT_TRUE(image);
    const SearchResult found = search_image(*image, std::as_bytes(std::span(file)));
    std::set<std::uint64_t> ours, theirs;
    for (const Site& site : found.sites) ours.insert(site.address);
    const std::string command = std::string("objdump -d --no-show-raw-insn ") + path +
                                " | grep -P '^ *[0-9a-f]+:\\t(rdtsc|rdtscp|cpuid|xgetbv|rdrand|rdseed|rdpid)\\b'";
    std::FILE* pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    char line[256];
    while (std::fgets(line, sizeof line, pipe) != nullptr) {
      const std::uint64_t address = std::strtoull(line, nullptr, 16);
      const auto& functions = image->functions();
      if (std::any_of(functions.begin(), functions.end(),
                      [&](const Function& f) { return f.begin <= address && address < f.end; })) {
        theirs.insert(address);
      }
    }
    pclose(pipe);
    EXPECT_EQ(ours, theirs) << path;
    EXPECT_TRUE(found.doubts.empty()) << path;
    // Replaceable system calls are a subset of all.
    std::set<std::uint64_t> all;
    pipe = popen((std::string("objdump -d --no-show-raw-insn ") + path + " | grep -P '^ *[0-9a-f]+:\\tsyscall'").c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    while (std::fgets(line, sizeof line, pipe) != nullptr) all.insert(std::strtoull(line, nullptr, 16));
    pclose(pipe);
    const std::vector<CallSite> calls = search_calls(*image, std::as_bytes(std::span(file)));
    for (const CallSite& call : calls) EXPECT_TRUE(all.contains(call.address + call.call_at)) << path << call.address;
    if (std::string(path).find("libc.so") != std::string::npos) {
      EXPECT_GT(calls.size(), 50u);
    }
    ++compared;
  }
  EXPECT_GE(compared, 2);
}

}  // namespace
}  // namespace verbatim::code

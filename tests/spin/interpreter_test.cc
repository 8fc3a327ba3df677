// Known and unknown values: the interpreter refuses rather than guesses.
#include "sim/supervisor/spin/interpreter.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <vector>

#include "tests/spin/self_memory.h"

namespace verbatim::spin {
namespace {

struct Known : testing::Test {
  // Executes the code with only rsp known; returns whether it reached the end.
  bool run(std::vector<std::uint8_t> bytes, std::uint64_t known = known_bits(kRsp, 8)) {
    std::memset(code, 0x90, sizeof code);
    std::memcpy(code, bytes.data(), bytes.size());
    view.begin(memory, 16);
    view.set_anchor();
    cache.begin();
    thread.state = {};
    thread.state.known = known;
    thread.state.known_flags = 0;
    thread.state.registers.rip = address(code);
    thread.state.registers.gpr[kRsp] = address(stack + 32);
    while (thread.state.registers.rip < address(code) + bytes.size()) {
      if (!thread.step()) return false;
    }
    return true;
  }
  bool knows(unsigned index, unsigned size) { return (known_bits(index, size) & ~thread.state.known) == 0; }
  Reason reason() { return thread.stop().reason; }

  alignas(4096) static inline std::uint8_t code[4096];
  alignas(4096) static inline std::uint64_t stack[512];
  SelfMemory memory;
  CodeCache cache;
  MemoryView view;
  Interpreter thread{cache, view};
};

TEST_F(Known, reading_an_unknown_register_stops) {
  EXPECT_FALSE(run({0x89, 0xc8}));  // mov eax, ecx
  EXPECT_EQ(reason(), Reason::kUndefinedValue);
  EXPECT_STREQ(thread.stop().mnemonic, "mov");
  EXPECT_FALSE(run({0x8b, 0x01}));  // mov eax, [rcx]
  EXPECT_EQ(reason(), Reason::kUndefinedValue);
  EXPECT_FALSE(run({0x51}));  // push rcx
  EXPECT_EQ(reason(), Reason::kUndefinedValue);
}

TEST_F(Known, writing_a_register_makes_it_known) {
  EXPECT_TRUE(run({0xb9, 5, 0, 0, 0, 0x48, 0x89, 0xc8}));  // mov ecx, 5; mov rax, rcx
  EXPECT_EQ(thread.state.registers.gpr[kRax], 5u);
}

TEST_F(Known, clearing_a_register_needs_nothing) {
  EXPECT_TRUE(run({0x31, 0xc9, 0x29, 0xd2, 0x83, 0xce, 0xff}));  // xor ecx, ecx; sub edx, edx; or esi, -1
  EXPECT_TRUE(knows(kRcx, 8) && knows(kRdx, 8) && knows(kRsi, 8));
  EXPECT_EQ(thread.state.registers.gpr[kRcx], 0u);
  EXPECT_EQ(thread.state.registers.gpr[kRsi], 0xffff'ffffu);
  EXPECT_FALSE(run({0x31, 0xd1}));  // xor ecx, edx
  EXPECT_FALSE(run({0x19, 0xc9}));  // sbb ecx, ecx: needs the carry
  EXPECT_TRUE(run({0xf8, 0x19, 0xc9}));
}

TEST_F(Known, a_division_of_a_word_leaves_its_remainder_in_the_upper_byte) {
  EXPECT_TRUE(run({0xb8, 7, 0, 0, 0, 0xb1, 2, 0xf6, 0xf1}));  // mov eax, 7; mov cl, 2; div cl
  EXPECT_EQ(thread.state.registers.gpr[kRax] & 0xffff, 0x0103u);
  EXPECT_TRUE(run({0xb8, 0x9b, 0xff, 0, 0, 0xb1, 2, 0xf6, 0xf9}));  // mov eax, 0xff9b; mov cl, 2; idiv cl: -101 / 2
  EXPECT_EQ(thread.state.registers.gpr[kRax] & 0xffff, 0xffceu);
  // mov eax, 7; mov ecx, 2; mov edx, 0; div cx
  EXPECT_TRUE(run({0xb8, 7, 0, 0, 0, 0xb9, 2, 0, 0, 0, 0xba, 0, 0, 0, 0, 0x66, 0xf7, 0xf1}));
  EXPECT_EQ(thread.state.registers.gpr[kRax], 3u);
  EXPECT_EQ(thread.state.registers.gpr[kRdx], 1u);
}

TEST_F(Known, flags_that_are_undefined_after_an_instruction_are_not_used) {
  EXPECT_FALSE(run({0xb8, 7, 0, 0, 0, 0xb1, 2, 0xf6, 0xf1, 0x74, 0}));  // div cl; jz
  EXPECT_EQ(reason(), Reason::kUndefinedValue);
  // mov ecx, 5; mov edx, 6; andn eax, ecx, edx
  const std::vector<std::uint8_t> andn = {0xb9, 5, 0, 0, 0, 0xba, 6, 0, 0, 0, 0xc4, 0xe2, 0x70, 0xf2, 0xc2};
  const auto then = [&](std::uint8_t jump) {
    std::vector<std::uint8_t> code = andn;
    code.insert(code.end(), {jump, 0});
    return run(code);
  };
  EXPECT_TRUE(then(0x74)) << "jz";
  EXPECT_EQ(thread.state.registers.gpr[kRax], 2u);
  EXPECT_TRUE(then(0x72)) << "jc";
  EXPECT_FALSE(then(0x7a)) << "jp";
}

TEST_F(Known, a_byte_of_a_register_is_known_alone) {
  EXPECT_TRUE(run({0xb1, 7, 0x0f, 0xb6, 0xc1}));  // mov cl, 7; movzx eax, cl
  EXPECT_EQ(thread.state.registers.gpr[kRax], 7u);
  EXPECT_TRUE(knows(kRcx, 1));
  EXPECT_FALSE(knows(kRcx, 2));
  EXPECT_FALSE(run({0xb1, 7, 0x89, 0xc8}));        // mov cl, 7; mov eax, ecx
  EXPECT_FALSE(run({0xb1, 7, 0x0f, 0xb6, 0xc5}));  // mov cl, 7; movzx eax, ch
  EXPECT_TRUE(run({0xb5, 7, 0x0f, 0xb6, 0xc5}));   // mov ch, 7; movzx eax, ch
}

TEST_F(Known, reading_an_unknown_flag_stops) {
  EXPECT_FALSE(run({0x74, 0}));  // jz
  EXPECT_EQ(reason(), Reason::kUndefinedValue);
  // xor defines ZF; imul leaves it undefined, but not CF.
  EXPECT_TRUE(run({0x31, 0xc9, 0x74, 0}));
  EXPECT_FALSE(run({0x31, 0xc9, 0x0f, 0xaf, 0xc9, 0x74, 0}));
  EXPECT_TRUE(run({0x31, 0xc9, 0x0f, 0xaf, 0xc9, 0x72, 0}));
  // A shift by 0 changes no flag; a shift by more than 1 leaves OF undefined.
  EXPECT_TRUE(run({0x31, 0xc9, 0xc1, 0xe1, 0, 0x70, 0}));
  EXPECT_TRUE(run({0x31, 0xc9, 0xc1, 0xe1, 1, 0x70, 0}));
  EXPECT_FALSE(run({0x31, 0xc9, 0xc1, 0xe1, 2, 0x70, 0}));
}

TEST_F(Known, scanning_zero_leaves_the_register_unknown) {
  EXPECT_TRUE(run({0x31, 0xc9, 0x0f, 0xbc, 0xc1}));  // xor ecx, ecx; bsf eax, ecx
  EXPECT_FALSE(knows(kRax, 1));
  EXPECT_TRUE(run({0xb9, 8, 0, 0, 0, 0x0f, 0xbc, 0xc1}));
  EXPECT_TRUE(knows(kRax, 8));
}

TEST_F(Known, a_legacy_vector_write_leaves_the_upper_half_unknown) {
  EXPECT_TRUE(run({0x66, 0x0f, 0xef, 0xc0}));  // pxor xmm0, xmm0
  EXPECT_EQ(thread.state.vectors.known, 1u);
  EXPECT_TRUE(run({0xc5, 0xf9, 0xef, 0xc0}));  // vpxor xmm0, xmm0, xmm0
  EXPECT_EQ(thread.state.vectors.known, 0x1'0001u);
  EXPECT_FALSE(run({0x66, 0x0f, 0xef, 0xc1}));  // pxor xmm0, xmm1
  EXPECT_EQ(reason(), Reason::kUndefinedValue);
}

TEST_F(Known, a_conversion_leaves_what_is_above_its_number_unknown) {
  thread.allows_floating = true;
  constexpr std::uint64_t kFive = 0x4014'0000'0000'0000;  // 5.0
  // mov ecx, 5; cvtsi2sd xmm0, rcx; movaps xmm1, xmm0; movq rax, xmm1
  EXPECT_TRUE(run({0xb9, 5, 0, 0, 0, 0xf2, 0x48, 0x0f, 0x2a, 0xc1, 0x0f, 0x28, 0xc8, 0x66, 0x48, 0x0f, 0x7e, 0xc8}));
  EXPECT_EQ(thread.state.registers.gpr[kRax], kFive);
  // mov ecx, 5; vcvtsi2sd xmm0, xmm1, rcx; vaddsd xmm2, xmm0, xmm0; vmovq rax, xmm2
  EXPECT_TRUE(run({0xb9, 5, 0, 0, 0, 0xc4, 0xe1, 0xf3, 0x2a, 0xc1, 0xc5, 0xfb, 0x58, 0xd0, 0xc4, 0xe1, 0xf9, 0x7e, 0xd0}));
  EXPECT_EQ(thread.state.registers.gpr[kRax], 0x4024'0000'0000'0000u);  // 10.0
  // … movups [rsp], xmm0
  EXPECT_FALSE(run({0xb9, 5, 0, 0, 0, 0xf2, 0x48, 0x0f, 0x2a, 0xc1, 0x0f, 0x11, 0x04, 0x24}));
  EXPECT_EQ(reason(), Reason::kUndefinedValue);
  // … movaps xmm1, xmm0; pxor xmm1, xmm0
  EXPECT_FALSE(run({0xb9, 5, 0, 0, 0, 0xf2, 0x48, 0x0f, 0x2a, 0xc1, 0x0f, 0x28, 0xc8, 0x66, 0x0f, 0xef, 0xc8}));
  EXPECT_EQ(reason(), Reason::kUndefinedValue);
  // … xorps xmm0, xmm0; cvtsi2sd xmm0, rcx; movups [rsp], xmm0; mov rax, [rsp]
  EXPECT_TRUE(run({0xb9, 5,    0,    0,    0,    0x0f, 0x57, 0xc0, 0xf2, 0x48, 0x0f,
                   0x2a, 0xc1, 0x0f, 0x11, 0x04, 0x24, 0x48, 0x8b, 0x04, 0x24}));
  EXPECT_EQ(thread.state.registers.gpr[kRax], kFive);
  // The same with floats: mov ecx, 5; cvtsi2ss xmm0, rcx; movaps xmm1, xmm0; mulss xmm1, xmm0; …
  const std::vector<std::uint8_t> squared = {0xb9, 5,    0,    0,    0,    0xf3, 0x48, 0x0f, 0x2a, 0xc1,
                                             0x0f, 0x28, 0xc8, 0xf3, 0x0f, 0x59, 0xc8};
  const auto then = [&](std::initializer_list<std::uint8_t> more) {
    std::vector<std::uint8_t> bytes = squared;
    bytes.insert(bytes.end(), more);
    return run(bytes);
  };
  EXPECT_TRUE(then({0x66, 0x0f, 0x7e, 0xc8}));  // … movd eax, xmm1
  EXPECT_EQ(thread.state.registers.gpr[kRax], 0x41c8'0000u);  // 25.0f
  EXPECT_TRUE(then({0xf3, 0x0f, 0x5a, 0xd1, 0x66, 0x48, 0x0f, 0x7e, 0xd0}));  // … cvtss2sd xmm2, xmm1; movq rax, xmm2
  EXPECT_EQ(thread.state.registers.gpr[kRax], 0x4039'0000'0000'0000u);
  EXPECT_TRUE(then({0x0f, 0x2e, 0xc8}));  // … ucomiss xmm1, xmm0
  for (const auto& wide : {std::initializer_list<std::uint8_t>{0x66, 0x48, 0x0f, 0x7e, 0xc8},  // … movq rax, xmm1
                           std::initializer_list<std::uint8_t>{0xf2, 0x0f, 0x58, 0xc9},        // … addsd xmm1, xmm1
                           std::initializer_list<std::uint8_t>{0xf3, 0x0f, 0x7e, 0xd1},        // … movq xmm2, xmm1
                           std::initializer_list<std::uint8_t>{0x0f, 0x11, 0x0c, 0x24}}) {     // … movups [rsp], xmm1
    EXPECT_FALSE(then(wide));
    EXPECT_EQ(reason(), Reason::kUndefinedValue);
  }
  thread.allows_floating = false;
}

// Intel SDM 2: 132 multiplies the first and the third operand and adds the second, and so on.
TEST_F(Known, fused_multiplications_take_their_operands_in_three_orders) {
  thread.allows_floating = true;
  const auto result = [&](std::uint8_t opcode) {
    // mov ecx, 5; vcvtsi2sd xmm0, xmm0, rcx; the same for 3 in xmm1 and 2 in xmm2; vfm…sd xmm0, xmm1, xmm2;
    // vmovq rax, xmm0
    EXPECT_TRUE(run({0xb9, 5, 0, 0, 0, 0xc4, 0xe1, 0xfb, 0x2a, 0xc1, 0xb9, 3, 0, 0, 0, 0xc4, 0xe1, 0xf3, 0x2a, 0xc9,
                     0xb9, 2, 0, 0, 0, 0xc4, 0xe1, 0xeb, 0x2a, 0xd1, 0xc4, 0xe2, 0xf1, opcode, 0xc2,
                     0xc4, 0xe1, 0xf9, 0x7e, 0xc0}));
    return std::bit_cast<double>(thread.state.registers.gpr[kRax]);
  };
  const double kAdded[] = {5 * 2 + 3, 3 * 5 + 2, 3 * 2 + 5}, kSubtracted[] = {5 * 2 - 3, 3 * 5 - 2, 3 * 2 - 5};
  for (int order = 0; order < 3; ++order) {
    const auto opcode = static_cast<std::uint8_t>(0x99 + 0x10 * order);
    EXPECT_EQ(result(opcode), kAdded[order]);
    EXPECT_EQ(result(opcode + 2), kSubtracted[order]);
    EXPECT_EQ(result(opcode + 4), -kSubtracted[order]);
    EXPECT_EQ(result(opcode + 6), -kAdded[order]);
  }
  thread.allows_floating = false;
}

TEST_F(Known, refusals_name_the_instruction) {
  const struct {
    std::vector<std::uint8_t> bytes;
    Reason reason;
    const char* mnemonic;
  } kRows[] = {
      {{0x0f, 0x31}, Reason::kClockRead, "rdtsc"},
      {{0x0f, 0x01, 0xf9}, Reason::kClockRead, "rdtscp"},
      {{0x0f, 0x05}, Reason::kSystemCall, "syscall"},
      {{0xcd, 0x80}, Reason::kSystemCall, "int"},
      {{0x0f, 0xa2}, Reason::kCpuid, "cpuid"},
      {{0xf3, 0xa6}, Reason::kUnsupported, "cmpsb"},
      {{0x65, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0}, Reason::kUnsupported, "mov"},  // mov rax, gs:[0]
      {{0x0f, 0xc7, 0xf0}, Reason::kUnsupported, "rdrand"},
      {{0xf2, 0x0f, 0x51, 0xc1}, Reason::kUnsupported, "sqrtsd"},
      {{0x06}, Reason::kUndecodable, ""},
      {{0x48, 0x8b, 0x04, 0x25, 0x10, 0, 0, 0}, Reason::kUnreadable, "mov"},  // mov rax, [16]
      {{0x31, 0xc9, 0xf7, 0xf1}, Reason::kDivideError, "div"},
  };
  for (const auto& row : kRows) {
    EXPECT_FALSE(run(row.bytes, kAllKnown));
    EXPECT_EQ(reason(), row.reason) << row.mnemonic;
    EXPECT_STREQ(thread.stop().mnemonic, row.mnemonic);
    EXPECT_EQ(thread.stop().rip, address(code) + (row.reason == Reason::kDivideError ? 2 : 0));
  }
}

TEST_F(Known, string_operations_count_down) {
  stack[0] = stack[1] = stack[2] = 0;
  const auto at = address(stack);
  std::vector<std::uint8_t> bytes = {0x48, 0xbf};  // mov rdi, stack
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::uint8_t>(at >> (8 * i)));
  bytes.insert(bytes.end(), {0xb9, 3, 0, 0, 0, 0xb0, 0x5a, 0xf3, 0xaa,   // mov ecx, 3; mov al, 0x5a; rep stosb
                             0x48, 0x8d, 0x77, 0xfd, 0xb1, 2, 0xf3, 0xa4,  // lea rsi, [rdi - 3]; mov cl, 2; rep movsb
                             0xa5});                                        // movsd
  EXPECT_FALSE(run(bytes)) << "a string move of 4 bytes shares its name with an SSE2 instruction";
  EXPECT_EQ(reason(), Reason::kUnsupported);
  bytes.pop_back();
  EXPECT_TRUE(run(bytes));
  std::uint64_t stored = 0;
  EXPECT_TRUE(view.load(at, 8, stored));
  EXPECT_EQ(stored, 0x5a'5a5a'5a5aull);
  EXPECT_EQ(thread.state.registers.gpr[kRdi], at + 5);
  EXPECT_EQ(thread.state.registers.gpr[kRsi], at + 2);
  EXPECT_EQ(thread.state.registers.gpr[kRcx], 0u);
  EXPECT_EQ(stack[0], 0u) << "the program is not written";
}

TEST_F(Known, the_program_is_not_written) {
  stack[31] = 99;
  EXPECT_TRUE(run({0x6a, 5, 0x58}));  // push 5; pop rax
  EXPECT_EQ(thread.state.registers.gpr[kRax], 5u);
  EXPECT_EQ(stack[31], 99u);
}

}  // namespace
}  // namespace verbatim::spin

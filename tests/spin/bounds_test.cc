// Bounds of single results, found by comparing them to constants: a comparison has one outcome exactly if the
// constant is outside the bounds.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sim/supervisor/spin/growth.h"
#include "tests/spin/self_memory.h"

namespace verbatim::spin::bounds {
namespace {

using Code = std::vector<std::uint8_t>;

alignas(4096) std::uint8_t data[4096];
alignas(4096) std::uint8_t program[4096];

// rax and rcx have bounds, rdx and r8 to r15 are constant; rdx is the address of `data`.
struct Bounded : testing::Test {
  Bounded() { std::memset(data, 0, sizeof data); }

  void begin(std::uint64_t horizon = 100, const std::array<GrowingRegister, 16>& steps = {},
             std::vector<ByteRun> changed = {}) {
    view.begin(memory, 64);
    view.set_anchor();
    view.begin_tracking();
    thread.allows_floating = true;
    thread.state.registers.gpr[kRdx] = address(data);
    thread.state.vectors.known = ~0u;
    growth.begin(steps, std::move(changed), horizon);
  }
  void bound(unsigned index, Range range) {
    thread.state.registers.gpr[index] = static_cast<std::uint64_t>(range.least);
    ASSERT_TRUE(growth.set_register(index, 8, range));
  }
  bool execute(const Code& code) {
    std::memset(program, 0x90, sizeof program);
    std::copy(code.begin(), code.end(), program);
    cache.begin();
    thread.state.registers.rip = address(program);
    thread.set_observer(&growth);
    while (thread.state.registers.rip < address(program) + code.size()) {
      if (!thread.step()) return false;
    }
    return true;
  }
  // Whether rax is less than `limit` in all turns or in none.
  bool is_settled(std::int32_t limit) {
    Code compare = {0x48, 0x3d, 0x44, 0x33, 0x22, 0x11, 0x7c, 0x00};
    std::memcpy(compare.data() + 2, &limit, sizeof limit);
    const bool is = execute(compare);
    EXPECT_TRUE(is || growth.reason() == Reason::kUnsettled) << static_cast<int>(growth.reason());
    return is;
  }
  // `prepare` and `code` leave in rax a value from `least` to `most`, and no narrower bounds are wanted.
  template <class Prepare>
  void expect_range(Prepare prepare, const Code& code, std::int32_t least, std::int32_t most) {
    for (const auto& [limit, expected] : {std::pair(least, true), std::pair(least + 1, false),
                                          std::pair(most, false), std::pair(most + 1, true)}) {
      prepare();
      ASSERT_TRUE(execute(code)) << static_cast<int>(growth.reason());
      EXPECT_EQ(is_settled(limit), expected) << limit << " for " << least << " to " << most;
    }
  }

  SelfMemory memory;
  MemoryView view;
  CodeCache cache;
  Interpreter thread{cache, view};
  Growth growth{view};
};

TEST_F(Bounded, a_complement_has_the_complements_of_the_bounds) {
  const auto prepare = [&] {
    begin();
    bound(kRax, {3, 7});
  };
  expect_range(prepare, {0x48, 0xf7, 0xd0}, -8, -4);
  expect_range(prepare, {0x48, 0xf7, 0xd8}, -7, -3);
  expect_range(prepare, {0x48, 0xff, 0xc0}, 4, 8);
  expect_range(prepare, {0x48, 0xff, 0xc8}, 2, 6);
}

// SETL, CMOVL and SBB: the outcome must be the same in each turn.
TEST_F(Bounded, a_condition_without_one_outcome_is_unsettled) {
  for (const Code& code : {Code{0x48, 0x83, 0xf9, 0x05, 0x0f, 0x9c, 0xc0}, Code{0x48, 0x83, 0xf9, 0x05, 0x48, 0x0f, 0x4c, 0xc1},
                           Code{0x48, 0x83, 0xf9, 0x05, 0x48, 0x19, 0xc0}}) {
    begin();
    bound(kRcx, {3, 7});
    EXPECT_FALSE(execute(code));
    EXPECT_EQ(growth.reason(), Reason::kUnsettled);
    begin();
    bound(kRcx, {3, 4});
    EXPECT_TRUE(execute(code));
  }
}

TEST_F(Bounded, a_part_of_a_bounded_cell_is_refused) {
  for (const Code& code :
       {Code{0x48, 0x23, 0x42, 0x04}, Code{0x48, 0x0b, 0x42, 0x04}, Code{0x48, 0x03, 0x42, 0x04},
        Code{0x48, 0x0f, 0xaf, 0x42, 0x04}, Code{0x48, 0x8b, 0x42, 0x04}}) {
    begin();
    bound(kRax, {3, 7});
    ASSERT_TRUE(growth.set_memory(address(data), 8, Range{1, 9}));
    EXPECT_FALSE(execute(code));
    EXPECT_EQ(growth.reason(), Reason::kGrowingPart);
  }
}

TEST_F(Bounded, a_division_needs_a_dividend_that_is_extended) {
  const auto prepare = [&](std::int64_t upper) {
    begin();
    bound(kRax, {-9, -6});
    thread.state.registers.gpr[kRdx] = static_cast<std::uint64_t>(upper);
    thread.state.registers.gpr[kRcx] = 3;
  };
  expect_range([&] { prepare(-1); }, {0x48, 0xf7, 0xf9}, -3, -2);
  prepare(0);
  EXPECT_FALSE(execute({0x48, 0xf7, 0xf9})) << "the dividend is 2^64 - 9";
  EXPECT_EQ(growth.reason(), Reason::kUnsettled);
}

TEST_F(Bounded, floating_results_are_those_of_the_operation) {
  const double constants[] = {2, 4};
  const auto prepare = [&] {
    begin();
    std::memcpy(data, constants, sizeof constants);
    bound(kRax, {20, 31});
  };
  // The bounds are one unit in the last place wider: a whole result is rounded to the number below it.
  expect_range(prepare, {0xf2, 0x48, 0x0f, 0x2a, 0xc0, 0xf2, 0x0f, 0x58, 0x02, 0xf2, 0x48, 0x0f, 0x2c, 0xc0},
               21, 33);
  expect_range(prepare, {0xf2, 0x48, 0x0f, 0x2a, 0xc0, 0xf2, 0x0f, 0x5c, 0x02, 0xf2, 0x48, 0x0f, 0x2c, 0xc0},
               17, 29);
  expect_range(prepare, {0xf2, 0x48, 0x0f, 0x2a, 0xc0, 0xf2, 0x0f, 0x59, 0x02, 0xf2, 0x48, 0x0f, 0x2c, 0xc0},
               39, 62);
  expect_range(prepare, {0xf2, 0x48, 0x0f, 0x2a, 0xc0, 0xf2, 0x0f, 0x5e, 0x02, 0xf2, 0x48, 0x0f, 0x2c, 0xc0},
               9, 15);
  // xmm0 * xmm1 + xmm2 and so on
  const Code load = {0xf2, 0x48, 0x0f, 0x2a, 0xc0, 0xf2, 0x0f, 0x10, 0x0a, 0xf2, 0x0f, 0x10, 0x52, 0x08};
  const auto fused = [&](Code code) {
    const Code truncate = {0xf2, 0x48, 0x0f, 0x2c, 0xc0};
    code.insert(code.begin(), load.begin(), load.end());
    code.insert(code.end(), truncate.begin(), truncate.end());
    return code;
  };
  expect_range(prepare, fused({0xc4, 0xe2, 0xf1, 0xa9, 0xc2}), 43, 66);
  expect_range(prepare, fused({0xc4, 0xe2, 0xf1, 0xab, 0xc2}), 35, 58);
  expect_range(prepare, fused({0xc4, 0xe2, 0xf1, 0xad, 0xc2}), -58, -35);
  expect_range(prepare, fused({0xc4, 0xe2, 0xf1, 0xb9, 0xc2}), 27, 39);
  expect_range(prepare, fused({0xc4, 0xe2, 0xf1, 0xbb, 0xc2}), -23, -11);
  // The second operand is a float.
  prepare();
  EXPECT_FALSE(execute({0xf2, 0x48, 0x0f, 0x2a, 0xc0, 0xf2, 0x0f, 0x10, 0x12, 0xf3, 0x48, 0x0f, 0x2a, 0xc8,
                        0xc4, 0xe2, 0xf1, 0xa9, 0xc2}));
}

TEST_F(Bounded, a_merge_keeps_no_part_of_a_wider_number) {
  begin();
  bound(kRax, {20, 31});
  EXPECT_TRUE(execute({0xf3, 0x48, 0x0f, 0x2a, 0xc0, 0xf3, 0x48, 0x0f, 0x2a, 0xc8, 0xf3, 0x0f, 0x10, 0xc1}));
  begin();
  bound(kRax, {20, 31});
  EXPECT_FALSE(execute({0xf2, 0x48, 0x0f, 0x2a, 0xc0, 0xf3, 0x48, 0x0f, 0x2a, 0xc8, 0xf3, 0x0f, 0x10, 0xc1}));
}

TEST_F(Bounded, a_string_operation_reads_and_writes_constant_bytes_only) {
  const auto prepare = [&](unsigned growing) {
    begin(0, {}, {{address(data) + growing, {1}}});
    thread.state.registers.gpr[kRsi] = address(data) + 64;
    thread.state.registers.gpr[kRdi] = address(data) + 128;
    thread.state.registers.gpr[kRcx] = 8;
    thread.state.registers.gpr[kRax] = 0;
  };
  for (const auto& [code, growing, expected] :
       {std::tuple(Code{0xf3, 0xaa}, 64u, true), std::tuple(Code{0xf3, 0xaa}, 130u, false),
        std::tuple(Code{0xf3, 0xa4}, 66u, false), std::tuple(Code{0xf3, 0xa4}, 130u, false),
        std::tuple(Code{0xf3, 0xa4}, 200u, true)}) {
    prepare(growing);
    EXPECT_EQ(execute(code), expected) << growing;
  }
}

TEST_F(Bounded, a_value_that_begins_with_zero_has_its_first_turn) {
  std::array<GrowingRegister, 16> steps{};
  steps[kRcx].step = 1;
  begin(0, steps);
  thread.state.registers.gpr[kRcx] = 0;
  ASSERT_TRUE(execute({0x0f, 0xb6, 0xc1}));
  EXPECT_EQ(growth.turns(), 255u);
}

// JBE reads CF and ZF. An addition of growing values sets both; CLC replaces one.
TEST_F(Bounded, flags_of_two_instructions_are_not_taken_for_those_of_the_first) {
  std::array<GrowingRegister, 16> steps{};
  steps[kRax].step = 1;
  begin(0, steps);
  thread.state.registers.gpr[kRax] = 5;
  EXPECT_FALSE(execute({0x48, 0x83, 0xf8, 0x09, 0xf8, 0x76, 0x00}));
  EXPECT_EQ(growth.reason(), Reason::kGrowingFlags);
  begin(0, steps);
  thread.state.registers.gpr[kRax] = 5;
  EXPECT_TRUE(execute({0x48, 0x83, 0xf8, 0x09, 0x76, 0x00}));
  EXPECT_EQ(growth.turns(), 4u);
}

// The bits that a shift removes carry into the register after some turns; then bounds replace the rule.
TEST_F(Bounded, a_shifted_value_lies_between_its_first_and_its_last) {
  constexpr std::uint64_t kFactor = 0x1062'4dd3;  // 1/1000, in units of 2^-38
  std::array<GrowingRegister, 16> steps{};
  steps[kRax].step = kFactor;
  const auto prepare = [&] {
    begin(20'500, steps);
    thread.state.registers.gpr[kRax] = 5'000 * kFactor;
  };
  expect_range(prepare, {0x48, 0xc1, 0xe8, 0x26}, 5, 25);
}

TEST_F(Bounded, both_halves_of_a_vector_have_bounds) {
  const auto prepare = [&] {
    begin();
    bound(kRax, {20, 31});
    bound(kRcx, {5, 6});
  };
  const Code pair = {0x66, 0x48, 0x0f, 0x6e, 0xc0, 0x66, 0x48, 0x0f, 0x6e, 0xc9, 0x66, 0x0f, 0x6c, 0xc1};
  const auto then = [&](const Code& more) {
    Code code = pair;
    code.insert(code.end(), more.begin(), more.end());
    return code;
  };
  expect_range(prepare, then({0x66, 0x0f, 0xd4, 0xc0, 0x0f, 0x12, 0xd0, 0x66, 0x48, 0x0f, 0x7e, 0xd0}), 10,
               12);
  prepare();
  EXPECT_FALSE(execute(then({0x66, 0x0f, 0x38, 0x00, 0xc1})));
  prepare();
  EXPECT_TRUE(execute(then({0x66, 0x0f, 0xef, 0xc0}))) << "the result needs no operand";
}

TEST_F(Bounded, code_that_cannot_be_read_is_not_guessed) {
  begin();
  std::uint64_t stack[8] = {TestStack::kNowhere};
  thread.state.registers.gpr[kRsp] = address(stack);
  EXPECT_FALSE(execute({0xc3}));
  EXPECT_EQ(thread.stop().rip, TestStack::kNowhere);
  EXPECT_EQ(thread.stop().reason, Reason::kUnreadable);
}

}  // namespace
}  // namespace verbatim::spin::bounds

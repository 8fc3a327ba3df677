// Series of clock reads: the code between two reads, and each condition under which the series ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "sim/supervisor/spin/spin_prover.h"
#include "tests/spin/self_memory.h"

namespace verbatim::spin {
namespace {

constexpr std::uint64_t kClockFunction = 0x7fff'1000;  // never executed
constexpr std::int64_t kReadCost = 3'000;
const MemoryRange kClockLibrary[] = {{0x7fff'0000, 0x1'0000}};

alignas(4096) std::uint8_t row_code[4096];

class ClockRowTest : public testing::Test {
 protected:
  ClockRowTest() {
    model_.gettime = kClockFunction;
    model_.gettime_ps = 20'000;
    model_.cost_in_row = [](std::int64_t) { return kReadCost; };
    model_.base_ns = [](std::int64_t) { return std::optional<std::int64_t>(7'000'000'000); };
    limits_.libraries = kClockLibrary;
    begin_ = stack_.call(row_code);
    begin_.gpr[kRsp] -= 8;
    begin_.gpr[kRbx] = begin_.gpr[kRsp] + 64;  // a timespec
    begin_.gpr[kR12] = kClockFunction;
  }
  // mov $1, %edi; `arguments`, call *%r12, `behind`, jmp to the beginning. The thread is in the call.
  ClockStep first_step(const std::vector<std::uint8_t>& arguments, const std::vector<std::uint8_t>& behind) {
    std::vector<std::uint8_t> code = {0xbf, 1, 0, 0, 0};
    code.insert(code.end(), arguments.begin(), arguments.end());
    code.insert(code.end(), {0x41, 0xff, 0xd4});
    const std::uint64_t returns_to = address(row_code) + code.size();
    code.insert(code.end(), behind.begin(), behind.end());
    code.insert(code.end(), {0xeb, static_cast<std::uint8_t>(-static_cast<int>(code.size()) - 2)});
    std::copy(code.begin(), code.end(), row_code);
    std::memcpy(reinterpret_cast<void*>(begin_.gpr[kRsp]), &returns_to, sizeof returns_to);
    begin_.rip = kClockFunction;
    begin_.gpr[kRdi] = 1;
    begin_.gpr[kRsi] = begin_.gpr[kRbx];
    prover_.begin_row(begin_, memory_, limits_);
    return step(1'000'000'000'000);
  }
  ClockStep step(std::int64_t at_ps) {
    model_.look_ps = at_ps;
    return prover_.step_in_row(limits_, model_, 0);
  }
  static std::vector<std::uint8_t> bytes_of(std::int64_t seconds, std::int64_t ns) {
    std::vector<std::uint8_t> bytes(16);
    std::memcpy(bytes.data(), &seconds, 8);
    std::memcpy(bytes.data() + 8, &ns, 8);
    return bytes;
  }
  // Content of the timespec after the writes.
  std::vector<std::uint8_t> written(const ClockStep& step) {
    std::vector<std::uint8_t> bytes(16);
    for (const ByteRun& run : step.writes) {
      for (std::size_t i = 0; i < run.bytes.size(); ++i) {
        const std::uint64_t at = run.address + i - begin_.gpr[kRbx];
        if (at < bytes.size()) bytes[at] = run.bytes[i];
      }
    }
    return bytes;
  }

  const std::vector<std::uint8_t> same_ = {0x48, 0x89, 0xde};  // mov %rbx, %rsi
  const std::vector<std::uint8_t> read_ = {0x8b, 0x03};        // mov (%rbx), %eax
  ClockModel model_;
  Limits limits_;
  Registers begin_;
  TestStack stack_;
  SelfMemory memory_;
  SpinProver prover_;
};

TEST_F(ClockRowTest, each_step_stores_the_time_and_ends_at_the_next_read) {
  const ClockStep first = first_step(same_, read_);
  ASSERT_TRUE(first.goes_on);
  EXPECT_EQ(first.cost_ps, kReadCost);
  EXPECT_EQ(first.at_entry.rip, kClockFunction);
  EXPECT_EQ(first.at_entry.gpr[kRsp], begin_.gpr[kRsp]);
  EXPECT_EQ(first.at_entry.gpr[kRsi], begin_.gpr[kRbx]);
  EXPECT_EQ(first.at_entry.gpr[kRax], 8u) << "the seconds that it read";
  EXPECT_EQ(written(first), bytes_of(8, 0));
  const ClockStep second = step(1'000'000'003'000);
  ASSERT_TRUE(second.goes_on);
  EXPECT_EQ(written(second), bytes_of(8, 3));
  prover_.end_row();
}

TEST_F(ClockRowTest, another_argument_or_place_ends_the_series) {
  EXPECT_TRUE(first_step(same_, {0x90}).goes_on);
  prover_.end_row();
  EXPECT_FALSE(first_step({0x48, 0x8d, 0x73, 16}, {0x90}).goes_on) << "lea 16(%rbx), %rsi";
  prover_.end_row();
  EXPECT_FALSE(first_step({0x48, 0x89, 0xde, 0xff, 0xc7}, {0x90}).goes_on) << "inc %edi: another clock";
  prover_.end_row();
  EXPECT_FALSE(first_step(same_, {0x41, 0xff, 0xd4}).goes_on) << "a call from another place";
  prover_.end_row();
  EXPECT_FALSE(first_step(same_, {0x50}).goes_on) << "push %rax: another stack pointer";
  prover_.end_row();
  EXPECT_FALSE(first_step(same_, {0x49, 0xff, 0xc4}).goes_on) << "inc %r12: another function";
  prover_.end_row();
}

TEST_F(ClockRowTest, an_unknown_value_or_a_store_beyond_the_stack_ends_the_series) {
  EXPECT_FALSE(first_step(same_, {0x85, 0xc9}).goes_on) << "test %ecx, %ecx: the call has destroyed it";
  prover_.end_row();
  EXPECT_FALSE(first_step(same_, {0xc5, 0xf9, 0x7f, 0x03}).goes_on) << "vmovdqa %xmm0, (%rbx)";
  prover_.end_row();
  // mov %eax, 0x20000(%rbx): the stack of a series has 64 KiB.
  EXPECT_FALSE(first_step(same_, {0x89, 0x83, 0, 0, 2, 0}).goes_on);
  prover_.end_row();
}

}  // namespace
}  // namespace verbatim::spin

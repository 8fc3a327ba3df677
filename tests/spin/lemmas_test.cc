// Steps of the proof (sim/supervisor/spin/PROOF.md) that no loop shows by itself.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cfenv>
#include <cstring>

#include "sim/supervisor/spin/growth.h"
#include "sim/supervisor/spin/spin_prover.h"
#include "tests/spin/self_memory.h"

namespace verbatim::spin::lemmas {
namespace {

alignas(4096) std::uint8_t data[8192];
alignas(4096) std::uint8_t program[4096];

struct Lemmas : testing::Test {
  Lemmas() {
    std::memset(data, 0, sizeof data);
    begin();
  }
  void begin() {
    view.begin(memory, 64);
    view.set_anchor();
  }
  // Executes the code with these registers and growth.
  bool execute(std::initializer_list<std::uint8_t> bytes, Growth& growth) {
    std::memset(program, 0x90, sizeof program);
    std::copy(bytes.begin(), bytes.end(), program);
    cache.begin();
    thread.state.registers.rip = address(program);
    thread.allows_floating = true;
    thread.set_observer(&growth);
    while (thread.state.registers.rip < address(program) + bytes.size()) {
      if (!thread.step()) return false;
    }
    return true;
  }

  SelfMemory memory;
  MemoryView view;
  CodeCache cache;
  Interpreter thread{cache, view};
};

TEST_F(Lemmas, a_word_across_two_pages_is_read_and_written_as_one) {
  for (std::uint64_t before = 1; before < 8; ++before) {
    begin();
    const std::uint64_t at = address(data) + 4096 - before, wanted = 0x0807'0605'0403'0201;
    for (unsigned i = 0; i < 8; ++i) data[4096 - before + i] = static_cast<std::uint8_t>(i + 1);
    std::uint64_t value = 0;
    ASSERT_TRUE(view.load(at, 8, value));
    EXPECT_EQ(value, wanted);
    ASSERT_TRUE(view.store(at, 8, ~wanted));
    ASSERT_TRUE(view.load(at, 8, value));
    EXPECT_EQ(value, ~wanted);
    for (unsigned i = 0; i < 8; ++i) {
      ASSERT_TRUE(view.load(at + i, 1, value));
      EXPECT_EQ(value, ~wanted >> 8 * i & 0xff) << "byte " << i << ", " << before << " before the page";
    }
    begin();
    view.begin_tracking();
    ASSERT_TRUE(view.load(at, 8, value));
    ASSERT_TRUE(view.store(at, 8, 0));
    std::size_t read = 0, written = 0;
    for (const ByteRun& run : view.reads()) read += run.bytes.size();
    for (const ByteRun& run : view.writes()) written += run.bytes.size();
    EXPECT_EQ(read, 8u);
    EXPECT_EQ(written, 8u);
  }
}

TEST_F(Lemmas, a_call_does_not_read_bytes_that_change) {
  Growth growth(view);
  growth.begin({}, {{address(data) + 16, {1}}});
  EXPECT_TRUE(growth.may_read(address(data), 16));
  EXPECT_FALSE(growth.may_read(address(data) + 9, 8));
  EXPECT_EQ(growth.reason(), Reason::kGrowingCall);
}

// A line of code is 64 bytes; an instruction may end in the next one.
TEST_F(Lemmas, an_instruction_whose_end_changes_is_decoded_anew) {
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  std::uint8_t* const code = static_cast<std::uint8_t*>(page) + 63;
  std::memcpy(code, "\xeb\xfe", 2);  // jmp to itself
  SpinProver prover;
  Registers start;
  start.rip = address(code);
  EXPECT_TRUE(prover.prove_spin(start, memory, {}).proven);
  code[1] = 0;
  std::memcpy(code + 2, "\xff\xc0\xeb\xfc", 4);  // inc eax; jmp back
  EXPECT_FALSE(prover.prove_spin(start, memory, {}).proven);
  munmap(page, 4096);
}

// 3 / 3 is 1, or less in another rounding mode.
TEST_F(Lemmas, floating_results_have_bounds_for_every_rounding_mode) {
  const double third = 1.0 / 3;
  std::memcpy(data, &third, 8);
  volatile double factor = third, three = 3;
  ASSERT_EQ(static_cast<long>(three * factor), 1);
  std::fesetround(FE_DOWNWARD);
  const long lower = static_cast<long>(three * factor);
  std::fesetround(FE_TONEAREST);
  ASSERT_EQ(lower, 0);
  Growth growth(view);
  thread.state.registers.gpr[kRax] = 3;
  thread.state.registers.gpr[kRcx] = address(data);
  growth.begin({}, {}, 100);
  ASSERT_TRUE(growth.set_register(kRax, 8, Range{3, 4}));
  view.begin_tracking();
  // cvtsi2sd xmm0, rax; mulsd xmm0, [rcx]; cvttsd2si rbx, xmm0
  thread.state.vectors.known = ~0u;
  ASSERT_TRUE(
      execute({0xf2, 0x48, 0x0f, 0x2a, 0xc0, 0xf2, 0x0f, 0x59, 0x01, 0xf2, 0x48, 0x0f, 0x2c, 0xd8}, growth))
      << static_cast<int>(growth.reason());
  EXPECT_TRUE(growth.is_bounded(kRbx)) << "it is 0 or 1";
}

}  // namespace
}  // namespace verbatim::spin::lemmas

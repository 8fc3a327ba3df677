// Compares the interpreter with the processor: random short sequences of every interpreted instruction. Every
// value that the interpreter knows must be the processor's: registers, flags, memory.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "sim/core/rng.h"
#include "sim/supervisor/spin/interpreter.h"
#include "tests/spin/native_code.h"
#include "tests/spin/random_code.h"
#include "tests/spin/self_memory.h"

namespace verbatim::spin {
namespace {

struct Counts {
  int agreed = 0, stopped = 0;
  std::map<const Template*, int> uses;  // in sequences that were compared
};

template <std::size_t kSize>
void expect_all_used(const Template (&templates)[kSize], const Counts& counts, int least) {
  for (const Template& one : templates) {
    const auto found = counts.uses.find(&one);
    EXPECT_GE(found == counts.uses.end() ? 0 : found->second, least)
        << ZydisMnemonicGetString(one.mnemonic) << " in form " << static_cast<int>(one.form);
  }
}

void compare_sequences(std::uint64_t seed, bool vectors, int wanted, Counts& counts) {
  Rng rng(seed, "tests/spin/native");
  alignas(4096) static std::uint8_t buffer[kBufferSize];
  NativeCode native;
  SelfMemory memory;
  memory.mapped = buffer;
  CodeCache code;
  MemoryView view;
  while (counts.agreed < wanted) {
    Generator generator(rng, vectors);
    std::vector<std::uint8_t> bytes;
    std::vector<const Template*> used;
    for (std::uint64_t i = 0, n = 1 + rng.below(6); i < n; ++i) {
      const std::vector<std::uint8_t> one = generator.instruction();
      bytes.insert(bytes.end(), one.begin(), one.end());
      if (generator.used() != nullptr) used.push_back(generator.used());
    }
    if (bytes.empty()) continue;
    native.place(bytes);
    const bool same = rng.chance(1, 8);
    fill(buffer, rng, 1);
    MachineState start;
    for (auto& gpr : start.registers.gpr) gpr = interesting(rng);
    // Memory that equals the accumulator, for CMPXCHG.
    for (int i = 0; i < kBufferSize && same; i += 4) std::memcpy(buffer + i, &start.registers.gpr[kRax], 4);
    start.registers.gpr[kR15] = address(buffer + kBufferSize / 2);
    start.registers.gpr[kR14] = rng.below(16);
    start.registers.gpr[kRsp] = address(buffer + kBufferSize - 512);
    start.registers.flags = rng.next() & kArithmeticFlags;
    start.registers.rip = native.address();
    if (NativeCode::has_avx2()) {
      for (auto& lanes : start.vectors.lane) {
        for (auto& lane : lanes) lane = interesting(rng);
      }
      start.vectors.known = ~0u;
    }

    view.begin(memory, 16);
    view.set_anchor();
    code.begin();
    Interpreter interpreter(code, view);
    interpreter.state = start;
    const std::uint64_t end = native.address() + bytes.size();
    bool stopped = false;
    while (interpreter.state.registers.rip != end && !stopped) stopped = !interpreter.step();
    if (stopped) {
      // An undefined flag, a division that would trap, a misaligned access: not to be run.
      const Reason reason = interpreter.stop().reason;
      ASSERT_TRUE(reason == Reason::kUndefinedValue || reason == Reason::kDivideError ||
                  reason == Reason::kMisaligned)
          << interpreter.stop().mnemonic << ": " << static_cast<int>(reason);
      ++counts.stopped;
      continue;
    }

    Registers real = start.registers;
    VectorRegisters real_vectors = start.vectors;
    native.run(real, real_vectors);
    const MachineState& mine = interpreter.state;
    const auto text = [&bytes] {
      std::string all;
      char part[4];
      for (const std::uint8_t byte : bytes) {
        snprintf(part, sizeof part, "%02x ", byte);
        all += part;
      }
      return all;
    };
    for (unsigned i = 0; i < 16; ++i) {
      std::uint64_t mask = 0;
      if (mine.known >> i & 1) mask |= 0xff;
      if (mine.known >> (16 + i) & 1) mask |= 0xff00;
      if (mine.known >> (32 + i) & 1) mask |= ~0xffffull;
      ASSERT_EQ(mine.registers.gpr[i] & mask, real.gpr[i] & mask) << "register " << i << " after " << text();
      for (unsigned j = 0; j < 4; ++j) {
        ASSERT_EQ(mine.vectors.lane[i][j], real_vectors.lane[i][j])
            << "vector " << i << "." << j << " after " << text();
      }
    }
    ASSERT_EQ(mine.registers.flags & mine.known_flags, real.flags & mine.known_flags) << text();
    for (int i = 0; i < kBufferSize; i += 8) {
      std::uint64_t word = 0, expected = 0;
      ASSERT_TRUE(view.load(address(buffer + i), 8, word));
      std::memcpy(&expected, buffer + i, sizeof expected);
      ASSERT_EQ(word, expected) << "memory at " << i << " after " << text();
    }
    ++counts.agreed;
    for (const Template* one : used) ++counts.uses[one];
  }
}

TEST(Native, integer_sequences_agree_with_the_processor) {
  Counts counts;
  compare_sequences(1, false, 20'000, counts);
  EXPECT_LT(counts.stopped, counts.agreed) << "too little is compared";
  expect_all_used(kInteger, counts, 100);
}

TEST(Native, vector_sequences_agree_with_the_processor) {
  if (!NativeCode::has_avx2()) GTEST_SKIP() << "no AVX2";
  Counts counts;
  compare_sequences(2, true, 12'000, counts);
  EXPECT_LT(counts.stopped, counts.agreed * 2) << "too little is compared";
  expect_all_used(kVector, counts, 50);
}

}  // namespace
}  // namespace verbatim::spin

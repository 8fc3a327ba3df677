// Random bytes as code: the interpreter must not crash, hang or state what it cannot know.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "sim/core/rng.h"
#include "sim/supervisor/spin/spin_prover.h"
#include "tests/spin/self_memory.h"

namespace verbatim::spin {
namespace {

// One page of code and one of data; all other memory is unmapped.
class TwoPages : public CodeMemory {
 public:
  static constexpr std::uint64_t kCode = 0x40'0000, kData = 0x7fff'f000;
  std::uint8_t code[4096], data[4096];

  bool read(std::uint64_t address, void* to, std::size_t n) override {
    for (const auto& [start, bytes] : {std::pair{kCode, code}, std::pair{kData, data}}) {
      if (address < start || address - start > 4096 || n > 4096 - (address - start)) continue;
      std::memcpy(to, bytes + (address - start), n);
      return true;
    }
    return false;
  }
};

TEST(Fuzz, random_bytes_end_within_the_limit) {
  Rng rng(1, "tests/spin/fuzz");
  TwoPages memory;
  SpinProver prover;
  int proven = 0;
  for (int round = 0; round < 3000; ++round) {
    for (auto* page : {memory.code, memory.data}) {
      for (int i = 0; i < 4096; i += 8) {
        const std::uint64_t word = rng.next();
        std::memcpy(page + i, &word, 8);
      }
    }
    // Some one-byte opcodes are more frequent, so that paths have more than a few instructions.
    for (int i = 0; i < 4096; ++i) {
      if (rng.chance(1, 3))
        memory.code[i] = "\x89\x8b\x01\x31\x39\x85\x50\x58\x74\x75\xeb\x90\xf3\x48\x0f\xff"[rng.below(16)];
    }
    Registers start;
    for (auto& gpr : start.gpr) gpr = rng.chance(3, 4) ? TwoPages::kData + rng.below(4096) : rng.next();
    start.rip = TwoPages::kCode + rng.below(4096);
    start.flags = rng.next() & kArithmeticFlags;
    Limits limits;
    limits.steps = 500;
    const SpinProof proof = prover.prove_spin(start, memory, limits);
    EXPECT_LE(proof.steps, limits.steps * 5);
    proven += proof.proven;
    EXPECT_EQ(proof.proven, proof.refusal.reason == Reason::kNone);
    EXPECT_FALSE(proof.refusal.describe().empty());
    const auto is_poll = [](std::uint64_t rip) {
      return rip % 64 == 0 ? std::optional(PollEntry{0, 0}) : std::nullopt;
    };
    start.rip &= ~63ull;
    const PollLoopProof polls = prover.prove_poll_loop(start, is_poll, memory, limits);
    EXPECT_LE(polls.steps, limits.steps * 2);
    proven += polls.proven;
  }
  EXPECT_GT(proven, 0) << "the bytes are too random to test anything";
}

TEST(Fuzz, every_two_byte_opcode_decodes_or_is_refused) {
  TwoPages memory;
  SpinProver prover;
  for (unsigned first = 0; first < 256; ++first) {
    for (unsigned second = 0; second < 256; ++second) {
      std::memset(memory.code, 0x90, sizeof memory.code);
      std::memset(memory.data, 0, sizeof memory.data);
      memory.code[0] = static_cast<std::uint8_t>(first);
      memory.code[1] = static_cast<std::uint8_t>(second);
      Registers start;
      start.gpr.fill(TwoPages::kData + 128);
      start.rip = TwoPages::kCode;
      Limits limits;
      limits.steps = 8;
      static_cast<void>(prover.prove_spin(start, memory, limits));
    }
  }
}

}  // namespace
}  // namespace verbatim::spin

// A loop with a poll that returns nothing, and its execution.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "sim/supervisor/spin/kept_proofs.h"
#include "sim/supervisor/spin/spin_prover.h"
#include "tests/spin/loops.h"
#include "tests/spin/self_memory.h"

namespace verbatim::spin {

// Address of the poll function, which is never executed, neither here nor in the interpreter.
inline constexpr std::uint64_t kPoll = 0x7fff'1000;

inline std::optional<PollEntry> is_poll(std::uint64_t rip) {
  if (rip != kPoll) return std::nullopt;
  return PollEntry{7, 0};
}

inline bool covers(const std::vector<ByteRun>& runs, const volatile void* object, std::size_t length) {
  return std::any_of(runs.begin(), runs.end(), [&](const ByteRun& run) {
    return run.address <= address(object) && address(object) + length <= run.address + run.bytes.size();
  });
}

// The thread at its first poll: the interpreter executes the loop's beginning and really makes its stores.
struct PollLoop : testing::Test {
  PollLoop() {
    state.poll = reinterpret_cast<int (*)(void*, int, void*)>(kPoll);
    state.cq[0] = &state.cq[0];
    state.cq[1] = &state.cq[1];
  }

  Registers first_poll(const Registers& start) {
    InterpretedThread thread(memory, start);
    const Registers& now = thread.interpreter.state.registers;
    for (int i = 0; i < 1000 && now.rip != kPoll; ++i) EXPECT_TRUE(thread.interpreter.step());
    thread.write_changes();
    return now;
  }
  PollLoopProof prove(const Registers& entry, Limits limits = {}) {
    return prover.prove_poll_loop(entry, is_poll, memory, limits);
  }
  template <class Function>
  PollLoopProof prove_loop(Function* function, std::uint64_t argument = 0) {
    return prove(first_poll(stack.call(function, address(&state), argument)));
  }

  // The program after a number of polls that returned nothing: every instruction is interpreted, nothing is
  // predicted.
  struct After {
    Registers entry;
    std::vector<ByteRun> memory;
    long iterations = 0;
    std::uint64_t polls = 0;
  };
  After execute(const Registers& entry, std::uint64_t polls) {
    InterpretedThread thread(memory, entry);
    After after;
    for (; after.polls < polls; ++after.polls) {
      Registers& now = thread.interpreter.state.registers;
      EXPECT_TRUE(thread.view.load(now.gpr[kRsp], 8, now.rip));
      now.gpr[kRsp] += 8;
      now.gpr[kRax] = 0;
      bool runs = true;
      while (runs && now.rip != kPoll) runs = thread.interpreter.step();
      if (!runs) break;
    }
    after.entry = thread.interpreter.state.registers;
    after.memory = thread.view.changes();
    std::uint64_t iterations = 0;
    EXPECT_TRUE(thread.view.load(address(&state.iterations), 8, iterations));
    after.iterations = static_cast<long>(iterations);
    return after;
  }
  // Makes the program's stores as well.
  Registers execute_in_place(const Registers& entry, std::uint64_t polls) {
    const After after = execute(entry, polls);
    for (const ByteRun& run : after.memory) {
      std::copy(run.bytes.begin(), run.bytes.end(), reinterpret_cast<std::uint8_t*>(run.address));
    }
    return after.entry;
  }
  std::uint64_t polls_until_the_end(const Registers& entry) { return execute(entry, 1'000'000).polls + 1; }

  // Compares the proof's prediction of a later turn, at its poll with this number, to execution.
  void expect_after(const PollLoopProof& proof, const Registers& entry, int turns, std::size_t poll = 0) {
    const After real = execute(entry, proof.polls.size() * static_cast<std::uint64_t>(turns) + poll);
    for (const unsigned index : {kRbx, kRsp, kRbp, kR12, kR13, kR14, kR15}) {
      if (poll != 0) break;
      EXPECT_EQ(grown(proof.registers[index], entry.gpr[index], static_cast<std::uint64_t>(turns)),
                real.entry.gpr[index])
          << "register " << index;
    }
    std::string wrong;
    std::vector<ByteRun> shown = real.memory;
    for (ByteRun& run : shown)
      std::memcpy(run.bytes.data(), reinterpret_cast<const void*>(run.address), run.bytes.size());
    show_turn(proof, static_cast<std::uint64_t>(turns), poll, shown);
    for (std::size_t n = 0; n < shown.size(); ++n) {
      for (std::size_t i = 0; i < shown[n].bytes.size(); ++i) {
        // Stack frames of returned calls are unused.
        if (shown[n].address + i < entry.gpr[kRsp]) continue;
        if (shown[n].bytes[i] != real.memory[n].bytes[i]) wrong += " " + std::to_string(shown[n].address + i);
      }
    }
    EXPECT_EQ(wrong, "") << "memory at these places after " << turns << " turns";
  }

  TestStack stack;
  LoopState state{};  // above the stack, which grows downwards
  SelfMemory memory;
  SpinProver prover;
};

// The same test for the loops of both optimisation levels.
#define BOTH_LOOPS(fixture, test, ...) \
  TEST_F(fixture, test##_o0) {         \
    using namespace loops_o0;          \
    __VA_ARGS__                        \
  }                                    \
  TEST_F(fixture, test##_o2) {         \
    using namespace loops_o2;          \
    __VA_ARGS__                        \
  }

}  // namespace verbatim::spin

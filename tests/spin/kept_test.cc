// Proofs that hold in later waits.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/core/rng.h"
#include "tests/spin/poll_loop.h"

namespace verbatim::spin {
namespace {

// The turn of a proof with one group of growing values.
std::optional<std::uint64_t> single_turn(const PollLoopProof& proof, const Registers& entry,
                                         CodeMemory& memory) {
  const auto turn = turn_at(proof, entry, memory);
  if (!turn) return std::nullopt;
  EXPECT_EQ(turn->of_group.size(), 1u);
  return turn->of_group.front();
}

BOTH_LOOPS(PollLoop, later_turns_are_found, {
  const auto begin = [&] {
    state.counter = 0;
    state.iterations = 0;
    return first_poll(stack.call(poll_two_counting, address(&state)));
  };
  const PollLoopProof proof = prove(begin());
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  const auto expect_found = [&](const Registers& later) {
    const auto turn = turn_at(proof, later, memory);
    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->left, kEveryTurn);
    const PollLoopProof rest = from_turn(proof, *turn);
    EXPECT_TRUE(still_holds(rest, later, memory));
    for (const int turns : {1, 2, 50}) {
      expect_after(rest, later, turns);
      expect_after(rest, later, turns, 1);
    }
  };
  for (const std::uint64_t turn : {0, 1, 2, 1000}) {
    const Registers later = execute_in_place(begin(), 2 * turn);
    expect_found(later);
    state.counter = state.counter + 1;
    EXPECT_FALSE(turn_at(proof, later, memory)) << "the step is 3";
    state.counter = state.counter + 5;
    expect_found(later);  // the counters are independent, and one is two turns ahead
  }
  const Registers entry = begin();
  state.iterations = -1;
  expect_found(entry);  // nothing compares the counters
})

// The proof of a few turns is of use to those who have been in the loop before.
BOTH_LOOPS(PollLoop, few_turns_are_kept, {
  const auto begin = [&] { return first_poll(stack.call(poll_limited, address(&state), 50)); };
  EXPECT_EQ(prove(begin()).refusal.reason, Reason::kFewTurns);
  const auto proof = prover.take_short_proof();
  ASSERT_TRUE(proof);
  EXPECT_FALSE(prover.take_short_proof());
  EXPECT_EQ(proof->turns, 49u);
  for (const std::uint64_t turn : {0, 1, 40, 48}) {
    const Registers later = execute_in_place(begin(), turn);
    ASSERT_EQ(single_turn(*proof, later, memory), turn);
    const PollLoopProof rest = from_turn(*proof, *turn_at(*proof, later, memory));
    EXPECT_EQ(rest.turns, 49 - turn);
    expect_after(rest, later, 1);
    if (rest.turns > 1) expect_after(rest, later, static_cast<int>(rest.turns - 1));
    EXPECT_EQ(polls_until_the_end(later), rest.turns + 1);
  }
  EXPECT_FALSE(turn_at(*proof, execute_in_place(begin(), 49), memory)) << "the next poll is the last";
})

BOTH_LOOPS(PollLoop, recheck_needs_the_same_registers_and_bytes, {
  const Registers entry = first_poll(stack.call(poll_with_flag, address(&state)));
  const PollLoopProof proof = prove(entry);
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  memory.batches = 0;
  EXPECT_TRUE(still_holds(proof, entry, memory));
  EXPECT_EQ(memory.batches, 1);
  // Registers that contain results of calls are ignored, and so is the upper half of an int.
  Registers other = entry;
  other.gpr[kRax] = other.gpr[kR11] = 5;
  other.gpr[kRsi] |= 1ull << 40;
  other.flags ^= kCf;
  EXPECT_TRUE(still_holds(proof, other, memory));
  for (const unsigned index : {kRbx, kRbp, kRsp, kR12, kR13, kR14, kR15, kRdi, kRsi, kRdx}) {
    other = entry;
    other.gpr[index] += 1;
    EXPECT_FALSE(still_holds(proof, other, memory)) << index;
  }
  other = entry;
  other.rip += 1;
  EXPECT_FALSE(still_holds(proof, other, memory));
  state.state = 5;  // not read by the loop
  EXPECT_TRUE(still_holds(proof, entry, memory));
  state.flag = 1;
  EXPECT_FALSE(still_holds(proof, entry, memory));
  EXPECT_FALSE(still_holds({}, entry, memory));
})

// A turn of ten polls, of which every eighth is another one, as in the progress function of Open MPI.
struct Deviating : PollLoop {
  PollLoopProof prove_ten(const Registers& entry) {
    Limits limits;
    limits.polls = 8;
    limits.far_polls = 1'000;
    limits.far_steps = 100'000;
    limits.ends_with_shortest = true;
    EXPECT_FALSE(prove(entry, limits).proven);
    auto proof = prover.take_short_proof();
    return proof ? *std::move(proof) : PollLoopProof{};
  }
  Registers begin(long counter, long calls) {
    state.counter = counter;
    state.iterations = calls;
    state.toggle = 0;
    return first_poll(stack.call(loops_o2::poll_deviating, address(&state)));
  }
};

TEST_F(Deviating, turns_are_found_in_each_period) {
  const Registers first = begin(3, 9);
  const PollLoopProof proof = prove_ten(first);
  ASSERT_TRUE(proof.proven);
  ASSERT_EQ(proof.polls.size(), 10u);
  EXPECT_EQ(proof.turns, 7u) << "the calls 9 to 15";
  EXPECT_EQ(proof.groups.size(), 2u);
  for (const long counter : {3, 13, 1003}) {
    for (long calls = 9; calls < 60; ++calls) {
      const Registers entry = begin(counter, calls);
      const auto turn = turn_at(proof, entry, memory);
      if (calls % 8 == 0) {
        EXPECT_FALSE(turn) << calls;
        continue;
      }
      ASSERT_TRUE(turn) << calls;
      ASSERT_EQ(turn->left, static_cast<std::uint64_t>(8 - calls % 8)) << calls;
      const PollLoopProof rest = from_turn(proof, *turn);
      EXPECT_TRUE(still_holds(rest, entry, memory));
      for (std::uint64_t turns = 1; turns <= rest.turns; ++turns) {
        expect_after(rest, entry, static_cast<int>(turns));
        if (turns < rest.turns) expect_after(rest, entry, static_cast<int>(turns), 9);
      }
    }
  }
  EXPECT_FALSE(turn_at(proof, begin(14, 9), memory)) << "not at the same poll of the ten";
}

TEST_F(Deviating, values_that_one_instruction_combines_are_at_the_same_turn) {
  const auto begin = [&](long counter, long iterations) {
    state.counter = counter;
    state.iterations = iterations;
    return first_poll(stack.call(loops_o2::poll_comparing_counters, address(&state)));
  };
  const PollLoopProof proof = prove(begin(5, 0));
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  EXPECT_EQ(proof.groups.size(), 1u);
  EXPECT_EQ(single_turn(proof, begin(7, 2), memory), 2u);
  EXPECT_FALSE(turn_at(proof, begin(7, 3), memory)) << "the difference may be compared";
  EXPECT_FALSE(turn_at(proof, begin(5, 1), memory));
}

// One of the values of a group is that of turn 0, and the other one is not.
BOTH_LOOPS(Deviating, a_register_without_a_step_is_at_turn_0, {
  for (auto* const loop : {poll_comparing_with_memory, poll_comparing_registers}) {
    const auto begin = [&](long counter) {
      state.counter = counter;
      return first_poll(stack.call(loop, address(&state)));
    };
    const Registers entry = begin(5);
    const PollLoopProof proof = prove(entry);
    ASSERT_TRUE(proof.proven) << proof.refusal.describe();
    EXPECT_EQ(proof.groups.size(), 1u);
    EXPECT_FALSE(turn_at(proof, begin(50), memory)) << "the difference is compared";
    EXPECT_FALSE(turn_at(proof, begin(300), memory)) << "the next poll is the last";
    begin(5);
    EXPECT_EQ(single_turn(proof, execute_in_place(entry, 50), memory), 50u);
  }
})

struct Compared : PollLoop {
  template <class Function>
  PollLoopProof prove_with(Function* function, int credits) {
    state.state = credits;
    entry = first_poll(stack.call(function, address(&state)));
    PollLoopProof proof = prove(entry);
    EXPECT_TRUE(proof.proven) << proof.refusal.describe();
    return proof;
  }
  Registers entry;
};

BOTH_LOOPS(Compared, values_with_the_same_outcome_hold, {
  const PollLoopProof proof = prove_with(poll_with_credits, 7);
  EXPECT_TRUE(covers(proof.reads, &state.state, 4)) << "a change must wake the thread";
  for (const int credits : {-1000, -1, 0, 6, 7, 8, 15}) {
    state.state = credits;
    const auto turn = turn_at(proof, entry, memory);
    ASSERT_TRUE(turn) << credits;
    EXPECT_EQ(turn->is_first(), credits == 7);
    const PollLoopProof now = from_turn(proof, *turn);
    EXPECT_TRUE(still_holds(now, entry, memory));
    bool is_shown = false;
    for (const ByteRun& run : now.reads) {
      const std::uint64_t at = address(&state.state) - run.address;
      if (at < run.bytes.size()) is_shown = run.bytes[at] == static_cast<std::uint8_t>(credits);
    }
    EXPECT_TRUE(is_shown) << "the bytes that wake the thread have their present values";
    for (const int turns : {1, 50}) expect_after(now, entry, turns);
  }
  for (const int credits : {16, 17, 1'000'000}) {
    state.state = credits;
    EXPECT_FALSE(turn_at(proof, entry, memory)) << credits;
  }
})

BOTH_LOOPS(Compared, bits_that_no_test_looks_at_may_change, {
  const PollLoopProof proof = prove_with(poll_testing_a_bit, 2);
  for (const int flags : {0, 2, 6, 0x7ffffffa}) {
    state.state = flags;
    EXPECT_TRUE(turn_at(proof, entry, memory)) << flags;
  }
  state.state = 3;
  EXPECT_FALSE(turn_at(proof, entry, memory));
})

TEST_F(Compared, values_with_another_use_are_exact) {
  using namespace loops_o2;
  for (auto* const loop : {poll_copying_credits, poll_carrying_credits, poll_with_moving_limit}) {
    const PollLoopProof proof = prove_with(loop, 7);
    EXPECT_TRUE(turn_at(proof, entry, memory));
    state.state = 8;
    EXPECT_FALSE(turn_at(proof, entry, memory));
  }
}

BOTH_LOOPS(Compared, a_proof_of_later_turns_is_replaced, {
  const auto at = [&](long turn) {
    state.counter = 0;
    return execute_in_place(first_poll(stack.call(poll_limited, address(&state), 50)), turn);
  };
  KeptProofs kept;
  const auto keep = [&](long turn) {
    prove(at(turn));
    kept.keep(std::make_shared<const PollLoopProof>(*prover.take_short_proof()));
  };
  const auto all = [](const PollLoopProof&, std::uint64_t) { return true; };
  const auto valid = [](const PollLoopProof&) { return true; };
  keep(20);
  EXPECT_FALSE(kept.find(at(19), memory, all, valid));
  EXPECT_TRUE(kept.find(at(30), memory, all, valid));
  EXPECT_EQ(kept.count(), 1u);
  keep(10);
  EXPECT_EQ(kept.count(), 1u);
  const auto found = kept.find(at(30), memory, all, valid);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->turn.of_group.front(), 20u);
  EXPECT_EQ(found->turn.left, 19u);
  const auto longer = [](const PollLoopProof&, std::uint64_t left) { return left > 19; };
  EXPECT_FALSE(kept.find(at(30), memory, longer, valid));
  EXPECT_FALSE(kept.find(at(30), memory, all, [](const PollLoopProof&) { return false; }));
  kept.forget();
  EXPECT_FALSE(kept.find(at(30), memory, all, valid));
})

}  // namespace
}  // namespace verbatim::spin

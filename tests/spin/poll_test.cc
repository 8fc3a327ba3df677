// Loops with a poll that returns nothing.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "sim/core/rng.h"
#include "tests/spin/poll_loop.h"

namespace verbatim::spin {
namespace {

BOTH_LOOPS(PollLoop, one_queue_is_proven, {
  const PollLoopProof proof = prove_loop(poll_until);
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  ASSERT_EQ(proof.polls.size(), 1u);
  EXPECT_EQ(proof.polls[0].entry.kind, 7u);
  EXPECT_EQ(proof.polls[0].registers.rip, kPoll);
  EXPECT_EQ(proof.polls[0].registers.gpr[kRdi], address(state.cq[0]));
  EXPECT_EQ(proof.polls[0].registers.gpr[kRsi] & 0xffff'ffff, 16u);
  EXPECT_EQ(proof.polls[0].registers.gpr[kRdx], address(state.wc));
  EXPECT_TRUE(covers(proof.reads, &state.cq[0], 8));
  EXPECT_TRUE(covers(proof.reads, &state.poll, 8));
  EXPECT_FALSE(covers(proof.reads, &state.flag, 1));
})

BOTH_LOOPS(PollLoop, two_queues_are_polled_in_turn, {
  const PollLoopProof proof = prove_loop(poll_two);
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  ASSERT_EQ(proof.polls.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(proof.polls[i].registers.gpr[kRdi], address(state.cq[i]));
    EXPECT_EQ(proof.polls[i].registers.gpr[kRsi] & 0xffff'ffff, static_cast<std::uint64_t>(i + 1));
    EXPECT_TRUE(proof.polls[i].known & (1u << kRbx));
  }
  // From the second poll on, the same two polls are found in the other order.
  Registers second = proof.polls[1].registers;
  for (const ByteRun& run : proof.polls[1].accesses->written) {
    std::copy(run.bytes.begin(), run.bytes.end(), reinterpret_cast<std::uint8_t*>(run.address));
  }
  const PollLoopProof other = prove(second);
  ASSERT_TRUE(other.proven) << other.refusal.describe();
  ASSERT_EQ(other.polls.size(), 2u);
  EXPECT_EQ(other.polls[0].registers.gpr[kRdi], address(state.cq[1]));
  EXPECT_EQ(other.polls[1].registers.gpr[kRdi], address(state.cq[0]));
})

BOTH_LOOPS(PollLoop, flag_between_polls_is_in_the_read_set, {
  const PollLoopProof proof = prove_loop(poll_with_flag);
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  EXPECT_TRUE(covers(proof.reads, &state.flag, 1));
})

BOTH_LOOPS(PollLoop, calls_between_polls_are_followed, {
  const PollLoopProof proof = prove_loop(poll_nested);
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  EXPECT_EQ(proof.polls.size(), 2u);
  EXPECT_TRUE(covers(proof.reads, &state.state, 4));
  // Stack frames of calls are written before they are read.
  EXPECT_FALSE(proof.writes.empty());
})

BOTH_LOOPS(PollLoop, counter_in_memory_grows, {
  const Registers entry = first_poll(stack.call(poll_counting, address(&state)));
  const PollLoopProof proof = prove(entry);
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  EXPECT_TRUE(proof.grows());
  EXPECT_EQ(proof.turns, kEveryTurn);
  EXPECT_EQ(state.iterations, 0) << "nothing is written to the program";
  for (const int turns : {1, 2, 3, 50}) expect_after(proof, entry, turns);
  EXPECT_EQ(execute(entry, 50).iterations, 50);
  EXPECT_TRUE(still_holds(proof, entry, memory));
  state.iterations = 1;
  EXPECT_FALSE(still_holds(proof, entry, memory)) << "of another turn";
})

BOTH_LOOPS(PollLoop, counter_in_memory_that_is_wrong_by_one_is_found, {
  const Registers entry = first_poll(stack.call(poll_counting, address(&state)));
  PollLoopProof proof = prove(entry);
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  ASSERT_FALSE(proof.cells.empty());
  for (GrowingCell& cell : proof.cells) cell.step += 1;
  EXPECT_NONFATAL_FAILURE(expect_after(proof, entry, 2), "memory at");
})

BOTH_LOOPS(PollLoop, limited_number_of_polls_is_proven_for_so_many_turns, {
  for (const std::uint64_t limit : {19'999, 20'000, 20'001}) {
    state.iterations = 0;
    const Registers entry = first_poll(stack.call(poll_limited, address(&state), limit));
    const PollLoopProof proof = prove(entry);
    ASSERT_TRUE(proof.proven) << proof.refusal.describe();
    // The turn after the last predicted one ends the loop.
    EXPECT_EQ(proof.turns, limit - 1);
    for (const int turns : {1, 2, 4998}) expect_after(proof, entry, turns);
    EXPECT_EQ(polls_until_the_end(entry), limit);
  }
  EXPECT_EQ(prove_loop(poll_limited, 20).refusal.reason, Reason::kFewTurns);
  EXPECT_EQ(prove_loop(poll_limited, 1).refusal.reason, Reason::kUnreadable) << "it ends with the next turn";
})

BOTH_LOOPS(PollLoop, poll_whose_argument_grows_is_not_proven, {
  const PollLoopProof proof = prove_loop(poll_with_counted_argument);
  EXPECT_FALSE(proof.proven);
  EXPECT_EQ(proof.refusal.reason, Reason::kGrowingCall) << proof.refusal.describe();
})

TEST_F(PollLoop, register_that_grows_has_its_value_of_the_turn) {
  const Registers entry = first_poll(stack.call(loops_o2::poll_limited, address(&state), 1'000'000));
  PollLoopProof proof = prove(entry);
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  int growing = 0;
  for (GrowingRegister& grows : proof.registers) growing += grows.step != 0;
  ASSERT_EQ(growing, 1);
  for (const int turns : {1, 7, 63}) expect_after(proof, entry, turns);
  for (GrowingRegister& grows : proof.registers) grows.step += grows.step != 0;
  EXPECT_NONFATAL_FAILURE(expect_after(proof, entry, 3), "register");
}

BOTH_LOOPS(PollLoop, other_values_that_change_are_not_proven, {
  EXPECT_EQ(prove_loop(poll_doubling).refusal.reason, Reason::kUnevenGrowth);
  EXPECT_EQ(prove_loop(poll_walking).refusal.reason, Reason::kGrowingAddress);
  EXPECT_EQ(prove_loop(poll_shuffling).refusal.reason, Reason::kGrowingResult);
  EXPECT_EQ(prove_loop(poll_reading_a_half).refusal.reason, Reason::kGrowingPart);
  EXPECT_EQ(prove_loop(poll_inserting).refusal.reason, Reason::kGrowingPart);
})

BOTH_LOOPS(PollLoop, two_counters_in_one_vector_are_proven, {
  const Registers entry = first_poll(stack.call(poll_packing, address(&state)));
  const PollLoopProof proof = prove(entry);
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  for (const int turns : {1, 2, 63}) expect_after(proof, entry, turns);
})

BOTH_LOOPS(PollLoop, counters_of_two_queues_differ_between_the_polls, {
  const Registers entry = first_poll(stack.call(poll_two_counting, address(&state)));
  const PollLoopProof proof = prove(entry);
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  ASSERT_EQ(proof.polls.size(), 2u);
  for (const int turns : {1, 2, 40}) expect_after(proof, entry, turns);
  ByteRun counter{address(&state.counter), ByteRun::Bytes(8, 0)};
  ByteRun iterations{address(&state.iterations), ByteRun::Bytes(8, 0)};
  const auto first = [](const ByteRun& run) { return static_cast<int>(run.bytes[0]); };
  show_turn(proof, 5, 0, counter);
  show_turn(proof, 5, 0, iterations);
  EXPECT_EQ(first(counter), 3 + 15) << "it came to its first poll with 3";
  EXPECT_EQ(first(iterations), 5);
  show_turn(proof, 5, 1, counter);
  show_turn(proof, 5, 1, iterations);
  EXPECT_EQ(first(counter), 3 + 15);
  EXPECT_EQ(first(iterations), 6);
})

// A poll writes to the bytes below its stack pointer, as far as Limits::poll_stack says.
BOTH_LOOPS(PollLoop, values_in_frames_of_the_poll_are_not_kept, {
  const Registers entry = first_poll(stack.call(poll_calling, address(&state)));
  const std::uint64_t top = entry.gpr[kRsp];
  const auto kept_below = [&](unsigned poll_stack) {
    Limits limits;
    limits.poll_stack = poll_stack;
    const PollLoopProof proof = prove(entry, limits);
    EXPECT_TRUE(proof.proven) << proof.refusal.describe();
    std::vector<GrowingCell> below;
    for (const GrowingCell& cell : proof.cells) {
      if (cell.address < top) below.push_back(cell);
    }
    return below;
  };
  const std::vector<GrowingCell> all = kept_below(0);
  ASSERT_FALSE(all.empty());
  const std::uint64_t lowest = std::ranges::min_element(all, {}, &GrowingCell::address)->address;
  EXPECT_TRUE(kept_below(static_cast<unsigned>(top - lowest)).empty());
  EXPECT_TRUE(kept_below(static_cast<unsigned>(top - lowest) - 1).empty()) << "a part of the cell";
  EXPECT_EQ(kept_below(static_cast<unsigned>(top - lowest) - 8).size(), 1u) << "it is below the poll's bytes";
})

Limits far_limits() {
  Limits limits;
  limits.far_polls = 20'000;
  limits.far_steps = 600'000;
  return limits;
}

// Turns with random numbers of polls, at random turns and polls: predictions of memory equal execution.
BOTH_LOOPS(PollLoop, turns_of_many_polls_are_proven_as_one, {
  Rng rng(5, "tests/spin/far");
  for (int i = 0; i < 24; ++i) {
    const std::uint64_t each = 65 + rng.next() % 1500;
    const bool is_elsewhere = i % 2 == 0;
    state.counter = 0;
    state.iterations = 0;
    state.toggle = 0;
    const Registers start = first_poll(stack.call(is_elsewhere ? poll_looking_elsewhere : poll_giving_up, address(&state), each));
    const std::uint64_t passed = rng.next() % (2 * each);
    const After later = execute(start, passed);
    for (const ByteRun& run : later.memory)
      std::copy(run.bytes.begin(), run.bytes.end(), reinterpret_cast<std::uint8_t*>(run.address));
    EXPECT_FALSE(prove(later.entry).proven);
    const PollLoopProof proof = prove(later.entry, far_limits());
    ASSERT_TRUE(proof.proven) << each << " " << passed << ": " << proof.refusal.describe();
    EXPECT_EQ(proof.polls.size(), is_elsewhere ? each + 1 : each);
    EXPECT_GT(proof.far_steps, each);
    Limits known = far_limits();
    known.far_polls = 0;
    known.likely_polls = static_cast<unsigned>(proof.polls.size());
    const PollLoopProof again = prove(later.entry, known);
    ASSERT_TRUE(again.proven) << each << " " << passed << ": " << again.refusal.describe();
    EXPECT_LT(again.far_steps, proof.far_steps) << "the length of the turn is not searched";
    for (int at = 0; at < 3; ++at) {
      const int turns = 1 + static_cast<int>(rng.next() % 20);
      expect_after(proof, later.entry, turns);
      expect_after(proof, later.entry, turns, 1 + rng.next() % (proof.polls.size() - 1));
      if (HasFailure()) FAIL() << each << " " << passed << " turn " << turns;
    }
  }
})

BOTH_LOOPS(PollLoop, remainder_by_a_constant_comes_round, {
  const Registers entry = first_poll(stack.call(poll_every_thousandth, address(&state)));
  const PollLoopProof proof = prove(entry, far_limits());
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  EXPECT_EQ(proof.polls.size(), 1000u);
  EXPECT_LE(proof.turns, (1ull << 32) / 1000) << "i has 32 bits";
  for (const int turns : {1, 7, 90}) expect_after(proof, entry, turns, static_cast<std::size_t>(turns));
})

BOTH_LOOPS(PollLoop, far_turn_needs_its_limits, {
  const Registers entry = first_poll(stack.call(poll_giving_up, address(&state), 1'000));
  Limits few = far_limits();
  few.far_polls = 1'500;  // two turns are needed to see that they are equal
  EXPECT_FALSE(prove(entry, few).proven);
  few = far_limits();
  few.far_steps = 3'000;
  EXPECT_FALSE(prove(entry, few).proven);
  EXPECT_FALSE(prove_loop(poll_doubling).proven);
  EXPECT_FALSE(prove(first_poll(stack.call(poll_doubling, address(&state))), far_limits()).proven);
})

BOTH_LOOPS(PollLoop, clock_between_polls_is_refused,
     { EXPECT_EQ(prove_loop(poll_with_clock).refusal.reason, Reason::kClockRead); })

BOTH_LOOPS(PollLoop, scratch_register_after_a_poll_is_undefined,
     { EXPECT_EQ(prove_loop(poll_reading_scratch).refusal.reason, Reason::kUndefinedValue); })

BOTH_LOOPS(PollLoop, flags_after_a_poll_are_undefined, {
  const PollLoopProof proof = prove_loop(poll_reading_flags);
  EXPECT_EQ(proof.refusal.reason, Reason::kUndefinedValue);
  EXPECT_EQ(proof.refusal.mnemonic, "setb");
})

BOTH_LOOPS(PollLoop, stack_below_a_poll_is_undefined,
     { EXPECT_EQ(prove_loop(poll_reading_stack).refusal.reason, Reason::kStaleStack); })

BOTH_LOOPS(PollLoop, stack_written_before_a_poll_is_undefined_after_it,
     { EXPECT_EQ(prove_loop(poll_reading_old_stack).refusal.reason, Reason::kStaleStack); })

struct ChangingCode : SelfMemory {
  bool changes_unnoticed(std::uint64_t) override { return true; }
};

BOTH_LOOPS(PollLoop, code_that_changes_unnoticed_is_compared, {
  const Registers entry = first_poll(stack.call(poll_until, address(&state)));
  EXPECT_TRUE(prove(entry).code.empty());
  ChangingCode changing;
  PollLoopProof proof = prover.prove_poll_loop(entry, is_poll, changing, {});
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  EXPECT_TRUE(covers(proof.code, *reinterpret_cast<const void* const*>(entry.gpr[kRsp]), 1)) << "the return address";
  EXPECT_TRUE(still_holds(proof, entry, changing));
  proof.code.front().bytes.front() ^= 1;
  EXPECT_FALSE(still_holds(proof, entry, changing));
})

BOTH_LOOPS(PollLoop, data_below_the_stack_is_refused, {
  for (const std::uint64_t step : {0, 3})
    EXPECT_EQ(prove_loop(poll_writing_below_stack, step).refusal.reason, Reason::kBelowStack) << step;
})

// Another party that looks at memory between the polls finds the value of that time.
BOTH_LOOPS(PollLoop, values_of_one_poll_only_vary, {
  const Registers entry = first_poll(stack.call(poll_alternating, address(&state)));
  const PollLoopProof proof = prove(execute_in_place(entry, 2));
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  ASSERT_EQ(proof.polls.size(), 2u);
  const auto has = [](const std::vector<MemoryRange>& ranges, const volatile void* object) {
    return std::ranges::any_of(ranges, [&](const MemoryRange& range) { return address(object) - range.address < range.length; });
  };
  EXPECT_TRUE(has(proof.varying, &state.state));
  EXPECT_FALSE(has(proof.varying, &state.lock));
  EXPECT_FALSE(has(proof.varying, &state.toggle));
  EXPECT_TRUE(has(proof.changed, &state.state));
  EXPECT_TRUE(has(proof.changed, &state.lock));
  EXPECT_FALSE(has(proof.changed, &state.toggle)) << "it has this value already";
  for (const int turns : {1, 2, 50}) {
    for (const std::size_t poll : {0, 1}) expect_after(proof, entry, turns, poll);
  }
})

// With recurring and with counting turns; the popped word had another value in the previous turn.
BOTH_LOOPS(PollLoop, popped_word_that_nobody_has_written_is_unknown, {
  for (const std::uint64_t step : {0, 3}) {
    const Registers entry = first_poll(stack.call(poll_popping_stack, address(&state), step));
    const PollLoopProof proof = prove(entry);
    ASSERT_TRUE(proof.proven) << step << ": " << proof.refusal.describe();
    EXPECT_EQ(proof.grows(), step != 0);
    for (const ByteRun& run : proof.reads) EXPECT_GE(run.address, entry.gpr[kRsp]) << "what is popped is not depended on";
    for (const int turns : {1, 2, 50}) expect_after(proof, entry, turns);
  }
  const PollLoopProof proof = prove_loop(poll_popping_for_nothing);
  EXPECT_TRUE(proof.proven) << proof.refusal.describe();
})

BOTH_LOOPS(PollLoop, register_that_is_unknown_after_a_turn_does_not_recur, {
  Registers entry = first_poll(stack.call(poll_keeping_nothing, address(&state)));
  for (const std::uint64_t value : {0, 5}) {  // unknown parts are shown as 0
    entry.gpr[kRbx] = value;
    EXPECT_EQ(prove(entry).refusal.reason, Reason::kUnevenGrowth) << value;
  }
})

BOTH_LOOPS(PollLoop, popped_word_that_is_used_is_refused, {
  const auto expect_refused = [&](auto* loop, Reason reason, const char* mnemonic) {
    const PollLoopProof proof = prove_loop(loop);
    EXPECT_FALSE(proof.proven);
    EXPECT_EQ(proof.refusal.reason, reason) << proof.refusal.describe();
    EXPECT_EQ(proof.refusal.mnemonic, mnemonic);
  };
  expect_refused(poll_storing_popped, Reason::kUndefinedValue, "mov");
  expect_refused(poll_comparing_popped, Reason::kUndefinedValue, "cmp");
  expect_refused(poll_looking_where_popped, Reason::kUndefinedValue, "mov");
  expect_refused(poll_asking_with_popped, Reason::kUndefinedValue, "call");
  expect_refused(poll_keeping_popped, Reason::kStaleStack, "pop");
})

BOTH_LOOPS(PollLoop, vector_register_after_a_poll_is_undefined, {
  const PollLoopProof proof = prove_loop(poll_reading_vector);
  EXPECT_EQ(proof.refusal.reason, Reason::kUndefinedValue);
  EXPECT_EQ(proof.refusal.mnemonic, "movq");
})

// With -O0 every scratch register has a value here.
TEST_F(PollLoop, argument_that_nobody_has_set_is_undefined) {
  const PollLoopProof proof = prove_loop(loops_o2::poll_without_arguments);
  EXPECT_EQ(proof.refusal.reason, Reason::kUndefinedValue);
  // The proof succeeds for a poll with two arguments.
  const auto takes_two = [](std::uint64_t rip) {
    return rip == kPoll ? std::optional(PollEntry{7, 0, {8, 4, 0}}) : std::nullopt;
  };
  const Registers entry = first_poll(stack.call(loops_o2::poll_without_arguments, address(&state)));
  const PollLoopProof of_two = prover.prove_poll_loop(entry, takes_two, memory, {});
  EXPECT_TRUE(of_two.proven) << of_two.refusal.describe();
}

BOTH_LOOPS(PollLoop, temporary_is_written_but_not_depended_on, {
  const PollLoopProof proof = prove_loop(poll_with_temporary);
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  EXPECT_FALSE(covers(proof.reads, &state.counter, 1));
  EXPECT_TRUE(covers(proof.writes, &state.counter, 8));
  bool found = false;
  for (const ByteRun& run : proof.writes) {
    const std::uint64_t at = address(&state.counter) - run.address;
    if (at < run.bytes.size()) found = run.bytes[at] == 5;
  }
  EXPECT_TRUE(found) << "what the loop leaves is not told";
  EXPECT_EQ(state.counter, 0);
})

BOTH_LOOPS(PollLoop, first_poll_need_not_find_the_temporaries_as_the_loop_leaves_them, {
  const Registers entry = first_poll(stack.call(poll_nested, address(&state)));
  // Bytes below the stack pointer, which earlier calls may have left there.
  for (int i = 1; i < 32; ++i) reinterpret_cast<std::uint64_t*>(entry.gpr[kRsp])[-i] = 0xabab'abab'abab'abab;
  const PollLoopProof proof = prove(entry);
  ASSERT_TRUE(proof.proven) << proof.refusal.describe();
  EXPECT_EQ(proof.polls.size(), 2u);
})

TEST_F(PollLoop, elsewhere_than_at_a_poll_nothing_is_proven) {
  EXPECT_EQ(prove(stack.call(loops_o2::poll_until, address(&state))).refusal.reason, Reason::kNotAPoll);
}

TEST_F(PollLoop, polls_lie_in_the_library_and_nothing_else_there_is_entered) {
  const Registers entry = first_poll(stack.call(loops_o2::poll_two, address(&state)));
  const MemoryRange library[] = {{kPoll & ~0xfffull, 4096}};
  Limits limits;
  limits.libraries = library;
  EXPECT_TRUE(prove(entry, limits).proven);
  int asked = 0;
  const auto only_first = [&](std::uint64_t rip) { return ++asked <= 2 ? is_poll(rip) : std::nullopt; };
  EXPECT_EQ(prover.prove_poll_loop(entry, only_first, memory, limits).refusal.reason, Reason::kLibraryCall);
}

TEST_F(PollLoop, loop_in_the_library_itself_is_not_entered) {
  const Registers entry = first_poll(stack.call(loops_o2::poll_until, address(&state)));
  std::uint64_t return_address = 0;
  ASSERT_TRUE(memory.read(entry.gpr[kRsp], &return_address, 8));
  const MemoryRange library[] = {{kPoll, 16}, {return_address, 1}};
  Limits limits;
  limits.libraries = library;
  EXPECT_EQ(prove(entry, limits).refusal.reason, Reason::kLibraryCall);
}

TEST_F(PollLoop, result_of_an_empty_poll_is_what_the_predicate_says) {
  const Registers entry = first_poll(stack.call(loops_o2::poll_until, address(&state)));
  const auto fails = [](std::uint64_t rip) {
    return rip == kPoll ? std::optional(PollEntry{1, 2}) : std::nullopt;  // ENOENT, as ibv_start_poll returns
  };
  EXPECT_EQ(prover.prove_poll_loop(entry, fails, memory, {}).refusal.reason, Reason::kUnreadable)
      << "the loop ends when a poll returns something";
}

#undef BOTH

// The shortest turn proves nothing, and the next longer one needs more steps than the limit.
TEST_F(PollLoop, says_that_more_steps_may_prove_it) {
  for (const auto loop : {loops_o0::poll_with_two_buffers, loops_o2::poll_with_two_buffers}) {
    const Registers entry = first_poll(stack.call(loop, address(&state)));
    Limits limits;
    limits.steps = 100;
    EXPECT_TRUE(prove(entry, limits).ran_out);
    const PollLoopProof proof = prove(entry);
    ASSERT_TRUE(proof.proven) << proof.refusal.describe();
    EXPECT_EQ(proof.polls.size(), 2u);
    EXPECT_FALSE(proof.ran_out);
    limits.steps = proof.cycle_length - 1;
    const PollLoopProof shorter = prove(entry, limits);
    EXPECT_FALSE(shorter.proven);
    EXPECT_TRUE(shorter.ran_out) << shorter.refusal.describe();
  }
}

}  // namespace
}  // namespace verbatim::spin

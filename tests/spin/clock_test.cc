// Poll loops that read the time stamp counter: predictions of later turns equal execution at their times.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "sim/supervisor/spin/kept_proofs.h"
#include "sim/supervisor/spin/spin_prover.h"
#include "tests/spin/loops.h"
#include "tests/spin/self_memory.h"

namespace verbatim::spin::clock_loops {
namespace {

constexpr std::uint64_t kPoll = 0x7fff'1000;  // never executed
const ClockModel kClock{.look_ps = 5'000'000'400, .poll_ps = 20'000, .counter_ps = 10'000, .counter_hz = 2'000'000'000};
const std::int64_t kTurn = kClock.poll_ps + kClock.counter_ps;

std::int64_t counter_at(std::int64_t ps) { return ps / 500; }

std::optional<PollEntry> is_poll(std::uint64_t rip) {
  return rip == kPoll ? std::optional(PollEntry{7, 0}) : std::nullopt;
}

class ClockLoop : public testing::Test {
 protected:
  using Loop = void (*)(LoopState*, long);

  ClockLoop() {
    state_.poll = reinterpret_cast<int (*)(void*, int, void*)>(kPoll);
    state_.cq[0] = &state_.cq[0];
    state_.counter = counter_at(kClock.look_ps - kTurn + kClock.counter_ps);  // as after the previous turn
  }

  // Executes from `start` until `polls` polls have been made; returns -1 if the function ends before.
  std::int64_t execute(const Registers& start, std::int64_t polls) {
    code_.begin();
    view_.begin(memory_, 64);
    view_.set_anchor();
    thread_.state = {};
    thread_.state.registers = start;
    Registers& now = thread_.state.registers;
    std::int64_t time = kClock.look_ps;
    for (std::int64_t made = 0;;) {
      if (now.rip == kPoll) {
        if (made++ == polls) return made;
        if (made > 1) time += kClock.poll_ps;
        EXPECT_TRUE(view_.load(now.gpr[kRsp], 8, now.rip));
        now.gpr[kRsp] += 8;
        now.gpr[kRax] = 0;
      } else if (!thread_.step()) {
        if (thread_.stop().reason != Reason::kClockRead) return -made;
        time += kClock.counter_ps;
        now.gpr[kRax] = static_cast<std::uint64_t>(counter_at(time)) & 0xffff'ffff;
        now.gpr[kRdx] = static_cast<std::uint64_t>(counter_at(time)) >> 32;
        now.rip += 2;
      }
    }
  }
  void expect_reported(Loop loop) {
    const std::int64_t end = counter_at(kClock.look_ps + kClock.counter_ps + 40'000 * kTurn) + 3;
    const Registers first = stack_.call(loop, address(&state_), static_cast<std::uint64_t>(end));
    execute(first, 0);
    for (const ByteRun& run : view_.changes())
      std::copy(run.bytes.begin(), run.bytes.end(), reinterpret_cast<std::uint8_t*>(run.address));
    const Registers entry = thread_.state.registers;
    const Limits limits;
    EXPECT_EQ(prover_.prove_poll_loop(entry, is_poll, memory_, limits).refusal.reason, Reason::kClockRead);
    const PollLoopProof proof = prover_.prove_poll_loop(entry, is_poll, memory_, limits, &kClock);
    ASSERT_TRUE(proof.proven) << proof.refusal.describe();
    EXPECT_EQ(proof.period_ps, kTurn);
    EXPECT_EQ(proof.turns, 40'001u) << "that many readings are not past the end";
    EXPECT_FALSE(still_holds(proof, entry, memory_)) << "later it is another time";
    for (const std::int64_t turns : {1, 2, 1'000, 40'001}) {
      ASSERT_EQ(execute(entry, turns), turns + 1);
      for (const volatile long* cell : {&state_.iterations, &state_.counter}) {
        std::uint64_t value = 0;
        ASSERT_TRUE(view_.load(address(cell), 8, value));
        ByteRun told{address(cell), ByteRun::Bytes(8, 0)};
        show_turn(proof, static_cast<std::uint64_t>(turns), 0, told);
        EXPECT_TRUE(std::equal(told.bytes.begin(), told.bytes.end(), reinterpret_cast<const std::uint8_t*>(&value)))
            << turns << " turns";
      }
      for (const unsigned index : {kRbx, kRbp, kR12, kR13, kR14, kR15}) {
        EXPECT_EQ(grown(proof.registers[index], entry.gpr[index], static_cast<std::uint64_t>(turns)),
                  thread_.state.registers.gpr[index]) << "register " << index;
      }
    }
    EXPECT_LT(execute(entry, 40'002), 0) << "the reading after those is past the end";

    // A turn whose duration is not a multiple of the counter's steps: the readings grow unevenly.
    ClockModel uneven = kClock;
    uneven.poll_ps = 20'100;
    EXPECT_EQ(prover_.prove_poll_loop(entry, is_poll, memory_, limits, &uneven).refusal.reason, Reason::kUnevenClock);
  }

  TestStack stack_;
  LoopState state_{};
  SelfMemory memory_;
  SpinProver prover_;
  CodeCache code_;
  MemoryView view_;
  Interpreter thread_{code_, view_};
};

// sched_yield and time are functions of the library, recognised by their addresses.
class CallingLoop : public testing::Test {
 protected:
  static constexpr std::uint64_t kYield = 0x7fff'2000, kTime = 0x7fff'3000, kTimeOfDay = 0x7fff'4000;

  CallingLoop() {
    state_.poll = reinterpret_cast<int (*)(void*, int, void*)>(kPoll);
    state_.yield = reinterpret_cast<int (*)()>(kYield);
    state_.time = reinterpret_cast<long (*)(long*)>(kTime);
    state_.timeofday = reinterpret_cast<int (*)(long*, void*)>(kTimeOfDay);
    clock_.time = kTime;
    clock_.timeofday = kTimeOfDay;
    clock_.cost_in_row = [](std::int64_t) -> std::int64_t { return 0; };
    clock_.yield = kYield;
    clock_.yield_ps = 150'000;
    clock_.gettime_ps = 20'000;
    clock_.base_ns = [](std::int64_t) { return std::optional<std::int64_t>(0); };
  }
  // Proves the loop from its first poll.
  PollLoopProof prove(const Registers& start) {
    const Limits limits{.libraries = kLibrary};
    code_.begin();
    view_.begin(memory_, 64);
    view_.set_anchor();
    thread_.state = {};
    thread_.state.registers = start;
    while (thread_.state.registers.rip != kPoll && thread_.step()) {
    }
    for (const ByteRun& run : view_.changes())
      std::copy(run.bytes.begin(), run.bytes.end(), reinterpret_cast<std::uint8_t*>(run.address));
    entry_ = thread_.state.registers;
    return prover_.prove_poll_loop(entry_, is_poll, memory_, limits, &clock_);
  }
  void expect_yields(void (*loop)(LoopState*)) {
    const PollLoopProof proof = prove(stack_.call(loop, address(&state_)));
    ASSERT_TRUE(proof.proven) << proof.refusal.describe();
    EXPECT_EQ(proof.period_ps, clock_.poll_ps + clock_.yield_ps);
    EXPECT_EQ(proof.turns, kEveryTurn);
    EXPECT_TRUE(std::any_of(proof.reads.begin(), proof.reads.end(), [&](const ByteRun& run) {
      return address(&state_.flag) - run.address < run.bytes.size();
    }));
    EXPECT_FALSE(still_holds(proof, entry_, memory_));
    clock_.yield = 0;
    EXPECT_EQ(prove(stack_.call(loop, address(&state_))).refusal.reason, Reason::kLibraryCall);
  }
  void expect_second(void (*loop)(LoopState*, long)) {
    const PollLoopProof proof = prove(stack_.call(loop, address(&state_), 1'000));
    ASSERT_TRUE(proof.proven) << proof.refusal.describe();
    const std::int64_t period = clock_.poll_ps + clock_.yield_ps + clock_.gettime_ps;
    EXPECT_EQ(proof.period_ps, period);
    const std::int64_t first_ns = (clock_.look_ps + clock_.yield_ps + clock_.gettime_ps) / 1'000;
    const auto left = 999'999'999u - static_cast<std::uint64_t>(first_ns);
    EXPECT_EQ(proof.turns, left / (static_cast<std::uint64_t>(period) / 1'000) + 1)
        << "those that are within the second";
  }
  // Six polls with different arguments are one turn, though fewer were tried first.
  void expect_six(void (*loop)(LoopState*, long)) {
    const PollLoopProof proof = prove(stack_.call(loop, address(&state_), 1'000));
    ASSERT_TRUE(proof.proven) << proof.refusal.describe();
    EXPECT_EQ(proof.polls.size(), 6u);
    EXPECT_EQ(proof.period_ps, 6 * clock_.poll_ps + clock_.gettime_ps);
    EXPECT_EQ(proof.far_steps, 0u);
  }
  void expect_between(void (*loop)(LoopState*, long)) {
    const PollLoopProof proof = prove(stack_.call(loop, address(&state_), 3'000'000));
    ASSERT_TRUE(proof.proven) << proof.refusal.describe();
    EXPECT_EQ(proof.period_ps, clock_.poll_ps + clock_.gettime_ps) << "the second of two readings in a row is free here";
    EXPECT_TRUE(proof.remakes);
  }
  // Up to the first turn that differs: nearly all turns before it, and none after it.
  void expect_milliseconds(void (*loop)(LoopState*, long)) {
    const std::int64_t period = clock_.poll_ps + clock_.gettime_ps;
    const auto microseconds = [&](std::int64_t turn) {
      return (clock_.look_ps + clock_.gettime_ps + turn * period) / 1'000'000;
    };
    constexpr std::int64_t kEnd = 600;  // in ms; the time is 5 ms
    const PollLoopProof proof = prove(stack_.call(loop, address(&state_), kEnd));
    ASSERT_TRUE(proof.proven) << proof.refusal.describe();
    EXPECT_EQ(proof.period_ps, period);
    EXPECT_TRUE(proof.remakes);
    const auto turns = static_cast<std::int64_t>(proof.turns);
    EXPECT_LT(microseconds(turns - 1), kEnd * 1'000) << "all that are promised are before the end";
    EXPECT_GT(microseconds(turns * 5 / 4), kEnd * 1'000) << "and hardly any is missing";
    EXPECT_FALSE(proof.remade.empty()) << "the time itself, in the loop's frame";
  }
  void expect_not_kept(void (*loop)(LoopState*, long)) {
    const PollLoopProof proof = prove(stack_.call(loop, address(&state_), 2'000));
    EXPECT_FALSE(proof.proven);
    EXPECT_EQ(proof.refusal.reason, Reason::kUnevenClock) << proof.refusal.describe();
  }

  // The turns end where a comparison of fractions of a second gets its other outcome.
  void expect_half_second(void (*loop)(LoopState*, long)) {
    state_.counter = 500'000;
    const PollLoopProof proof = prove(stack_.call(loop, address(&state_), 100));
    ASSERT_TRUE(proof.proven) << proof.refusal.describe();
    const auto turns = static_cast<std::int64_t>(proof.turns);
    const std::int64_t end = clock_.look_ps + turns * (clock_.poll_ps + clock_.gettime_ps);
    EXPECT_LT(end, 500'000'000'000);
    EXPECT_GT(end, 450'000'000'000);
  }

  void expect_quotients(void (*loop)(LoopState*, long, long)) {
    const std::int64_t period = clock_.poll_ps + clock_.gettime_ps;
    constexpr long kMillisecond = 1'000, kTenth = 100'000;
    state_.counter = 500'000;  // the time is 5,000, so the elapsed time is negative
    const auto prove_until = [&](long end, long divisor) {
      return prove(stack_.call(loop, address(&state_), static_cast<std::uint64_t>(end), static_cast<std::uint64_t>(divisor)));
    };
    const PollLoopProof far = prove_until(100'000, kMillisecond);
    ASSERT_TRUE(far.proven) << far.refusal.describe();
    EXPECT_EQ(static_cast<std::int64_t>(far.turns), (1'000'000'000'000 - clock_.look_ps - clock_.gettime_ps) / period + 1);
    // A rule holds for a tenth of a second; the result of the comparison for twelve of them.
    clock_.poll_ps = 1'000'000 - clock_.gettime_ps;
    state_.counter = 0;
    const PollLoopProof near = prove_until(12, kTenth);
    ASSERT_TRUE(near.proven) << near.refusal.describe();
    EXPECT_EQ(near.turns, 995'000u) << "the rest of this second";
  }

  static constexpr MemoryRange kLibrary[] = {{kPoll, 0x10'000}};
  TestStack stack_;
  LoopState state_{};
  SelfMemory memory_;
  SpinProver prover_;
  ClockModel clock_ = kClock;
  Registers entry_;
  CodeCache code_;
  MemoryView view_;
  Interpreter thread_{code_, view_};
};

TEST_F(CallingLoop, yields_o0) { expect_yields(loops_o0::poll_yielding); }
TEST_F(CallingLoop, yields_o2) { expect_yields(loops_o2::poll_yielding); }
TEST_F(CallingLoop, asks_for_seconds_o0) { expect_second(loops_o0::poll_until_second); }
TEST_F(CallingLoop, asks_for_seconds_o2) { expect_second(loops_o2::poll_until_second); }

TEST_F(CallingLoop, six_queues_o0) { expect_six(loops_o0::poll_six_until_second); }
TEST_F(CallingLoop, six_queues_o2) { expect_six(loops_o2::poll_six_until_second); }
TEST_F(CallingLoop, a_time_in_a_register_is_written_anew_o0) { expect_between(loops_o0::poll_between_times); }
TEST_F(CallingLoop, a_time_in_a_register_is_written_anew_o2) { expect_between(loops_o2::poll_between_times); }

TEST_F(CallingLoop, milliseconds_o0) { expect_milliseconds(loops_o0::poll_until_millisecond); }
TEST_F(CallingLoop, milliseconds_o2) { expect_milliseconds(loops_o2::poll_until_millisecond); }
TEST_F(CallingLoop, floating_o0) { expect_milliseconds(loops_o0::poll_until_floating); }
TEST_F(CallingLoop, floating_o2) { expect_milliseconds(loops_o2::poll_until_floating); }
TEST_F(CallingLoop, scaled_o0) { expect_milliseconds(loops_o0::poll_until_scaled); }
TEST_F(CallingLoop, scaled_o2) { expect_milliseconds(loops_o2::poll_until_scaled); }
TEST_F(CallingLoop, distance_o0) { expect_milliseconds(loops_o0::poll_until_distance); }
TEST_F(CallingLoop, distance_o2) { expect_milliseconds(loops_o2::poll_until_distance); }
TEST_F(CallingLoop, halves_of_a_vector_o0) { expect_milliseconds(loops_o0::poll_until_halves); }
TEST_F(CallingLoop, halves_of_a_vector_o2) { expect_milliseconds(loops_o2::poll_until_halves); }
TEST_F(CallingLoop, a_time_written_over_o0) { expect_milliseconds(loops_o0::poll_writing_over); }
TEST_F(CallingLoop, a_time_written_over_o2) { expect_milliseconds(loops_o2::poll_writing_over); }
TEST_F(CallingLoop, bounds_are_not_kept_over_turns_o0) { expect_not_kept(loops_o0::poll_keeping_millisecond); }
TEST_F(CallingLoop, bounds_are_not_kept_over_turns_o2) { expect_not_kept(loops_o2::poll_keeping_millisecond); }

TEST_F(CallingLoop, a_difference_is_proven_until_it_borrows_o0) { expect_half_second(loops_o0::poll_until_difference); }
TEST_F(CallingLoop, a_difference_is_proven_until_it_borrows_o2) { expect_half_second(loops_o2::poll_until_difference); }
TEST_F(CallingLoop, a_branch_is_proven_until_it_changes_o0) { expect_half_second(loops_o0::poll_leaving_early_times); }
TEST_F(CallingLoop, a_branch_is_proven_until_it_changes_o2) { expect_half_second(loops_o2::poll_leaving_early_times); }

TEST_F(CallingLoop, quotients_of_either_sign_o0) { expect_quotients(loops_o0::poll_until_quotient); }
TEST_F(CallingLoop, quotients_of_either_sign_o2) { expect_quotients(loops_o2::poll_until_quotient); }

TEST_F(ClockLoop, o0) { expect_reported(loops_o0::poll_timed); }
TEST_F(ClockLoop, o2) { expect_reported(loops_o2::poll_timed); }

// A system call that returns no data: only the known call, with the memory that it reads.
TEST_F(ClockLoop, known_call_of_the_kernel_is_passed) {
  constexpr std::uint64_t kAgain = static_cast<std::uint64_t>(-11);
  for (const Loop loop : {loops_o0::poll_and_read, loops_o2::poll_and_read}) {
    const Registers first = stack_.call(loop, address(&state_), 7);
    execute(first, 0);
    for (const ByteRun& run : view_.changes())
      std::copy(run.bytes.begin(), run.bytes.end(), reinterpret_cast<std::uint8_t*>(run.address));
    const Registers entry = thread_.state.registers;
    const auto prove = [&](const KnownCall& call) {
      ClockModel clock = kClock;
      clock.calls = {call};
      return prover_.prove_poll_loop(entry, is_poll, memory_, {}, &clock);
    };
    KnownCall call{.number = 0, .arguments = 3, .passed = {7, address(state_.wc), 8}, .result = kAgain, .cost_ps = 150'000};
    const PollLoopProof proof = prove(call);
    ASSERT_TRUE(proof.proven) << proof.refusal.describe();
    EXPECT_EQ(proof.period_ps, kClock.poll_ps + 150'000);
    ByteRun iterations{address(&state_.iterations), ByteRun::Bytes(8, 0)};
    show_turn(proof, 200, 0, iterations);
    EXPECT_EQ(iterations.bytes[0], 200);
    KnownCall other = call;
    other.passed[0] = 8;
    EXPECT_EQ(prove(other).refusal.reason, Reason::kSystemCall);
    other = call;
    other.number = 1;
    EXPECT_EQ(prove(other).refusal.reason, Reason::kSystemCall);
    other = call;
    other.result = 8;
    EXPECT_FALSE(prove(other).proven) << "it ends the loop";
    // Memory that the call reads is a dependency of the loop, and must be unchanged.
    other = call;
    other.address = address(state_.block);
    other.bytes = {0, 0, 0};
    const PollLoopProof reads = prove(other);
    ASSERT_TRUE(reads.proven) << reads.refusal.describe();
    EXPECT_TRUE(std::any_of(reads.reads.begin(), reads.reads.end(), [&](const ByteRun& run) {
      return run.address <= other.address && run.address + run.bytes.size() >= other.address + 3;
    }));
    other.bytes = {0, 1, 0};
    EXPECT_EQ(prove(other).refusal.reason, Reason::kSystemCall);
    other.address = address(&state_.iterations);  // differs in each turn
    other.bytes = {0};
    EXPECT_FALSE(prove(other).proven);
  }
}

// A system call destroys rcx and r11, and keeps the other registers (System V x86-64 ABI, A.2.1).
TEST_F(ClockLoop, a_call_of_the_kernel_destroys_two_registers) {
  alignas(4096) static std::uint8_t code[4096];
  const auto prove = [&](std::initializer_list<std::uint8_t> used) {
    // mov %rbx, %rdi; mov $1, %esi; mov %rbp, %rdx; call *%r12; xor %edx, %edx; xor %ecx, %ecx; xor %r11d, %r11d;
    // mov $39, %eax; syscall
    std::vector<std::uint8_t> loop = {0x48, 0x89, 0xdf, 0xbe, 1,    0,    0,    0,    0x48, 0x89, 0xea, 0x41, 0xff, 0xd4, 0x31,
                                      0xd2, 0x31, 0xc9, 0x45, 0x31, 0xdb, 0xb8, 39,   0,    0,    0,    0x0f, 0x05};
    loop.insert(loop.end(), used);
    loop.insert(loop.end(), {0xeb, static_cast<std::uint8_t>(-static_cast<int>(loop.size()) - 2)});
    std::copy(loop.begin(), loop.end(), code);
    Registers entry = stack_.call(code, address(&state_.cq), 1, address(state_.wc));
    *stack_.top() = address(code) + 14;
    entry.rip = entry.gpr[kR12] = kPoll;
    entry.gpr[kRbx] = entry.gpr[kRdi];
    entry.gpr[kRbp] = entry.gpr[kRdx];
    ClockModel clock = kClock;
    clock.calls = {{.number = 39, .result = 100, .cost_ps = 150'000}};
    return prover_.prove_poll_loop(entry, is_poll, memory_, {}, &clock);
  };
  const PollLoopProof kept = prove({0x85, 0xd2});  // test %edx, %edx
  EXPECT_TRUE(kept.proven) << kept.refusal.describe();
  EXPECT_EQ(prove({0x85, 0xc9}).refusal.reason, Reason::kUndefinedValue) << "test %ecx, %ecx";
  EXPECT_EQ(prove({0x45, 0x85, 0xdb}).refusal.reason, Reason::kUndefinedValue) << "test %r11d, %r11d";
}

// A copy of bytes that change in each turn changes as well, and has no rule.
TEST_F(ClockLoop, a_string_is_copied_from_bytes_that_do_not_change) {
  alignas(4096) static std::uint8_t code[4096];
  alignas(64) static std::uint64_t words[32];
  const auto prove = [&](std::uint8_t source) {
    // mov %rbx, %rdi; mov $1, %esi; mov %rbp, %rdx; call *%r12; incq (%r13); lea source(%r13), %rsi; lea 64(%r13), %rdi;
    // movsq
    std::vector<std::uint8_t> loop = {0x48, 0x89, 0xdf, 0xbe, 1,    0,    0,    0,    0x48, 0x89, 0xea, 0x41, 0xff, 0xd4, 0x49,
                                      0xff, 0x45, 0,    0x49, 0x8d, 0x75, source, 0x49, 0x8d, 0x7d, 64,   0x48, 0xa5};
    loop.insert(loop.end(), {0xeb, static_cast<std::uint8_t>(-static_cast<int>(loop.size()) - 2)});
    std::copy(loop.begin(), loop.end(), code);
    Registers entry = stack_.call(code, address(&state_.cq), 1, address(state_.wc));
    *stack_.top() = address(code) + 14;
    entry.rip = entry.gpr[kR12] = kPoll;
    entry.gpr[kRbx] = entry.gpr[kRdi];
    entry.gpr[kRbp] = entry.gpr[kRdx];
    entry.gpr[kR13] = address(words);
    return prover_.prove_poll_loop(entry, is_poll, memory_, {});
  };
  const PollLoopProof constant = prove(32);
  EXPECT_TRUE(constant.proven) << constant.refusal.describe();
  const PollLoopProof growing = prove(0);
  EXPECT_FALSE(growing.proven);
  EXPECT_EQ(growing.refusal.reason, Reason::kGrowingPart) << growing.refusal.describe();
}

}  // namespace
}  // namespace verbatim::spin::clock_loops

// Random turns that branch depending on a clock: each predicted turn, executed from the prediction of the
// previous one, has the same result as executing all turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/spin_prover.h"
#include "tests/spin/random_code.h"
#include "tests/spin/self_memory.h"

namespace verbatim::spin::random_ways {
namespace {

constexpr std::uint64_t kPoll = 0x7fff'1000;  // never executed
constexpr std::int64_t kPsOfCounter = 500;
constexpr std::int64_t kInRow = 7'300;  // picoseconds: 14 or 15 steps of the counter
constexpr unsigned kKept[] = {kRbx, kRbp, kR12, kR13};

alignas(4096) std::uint8_t buffer[kBufferSize];
alignas(4096) std::uint8_t code_page[4096];
std::uint64_t stack[4096];

std::optional<PollEntry> is_poll(std::uint64_t rip) {
  return rip == kPoll ? std::optional(PollEntry{7, 0}) : std::nullopt;
}

class Writer {
 public:
  void bytes(std::initializer_list<unsigned> all) {
    for (const unsigned byte : all) code_page[at_++] = static_cast<std::uint8_t>(byte);
  }
  void append(const std::vector<std::uint8_t>& all) {
    std::copy(all.begin(), all.end(), code_page + at_);
    at_ += all.size();
  }
  void number(std::uint64_t value, unsigned size) {
    std::memcpy(code_page + at_, &value, size);
    at_ += size;
  }
  void move(unsigned index, std::uint64_t value) {  // movabs
    bytes({index < 8 ? 0x48u : 0x49u, 0xb8 + index % 8});
    number(value, 8);
  }
  // Writes the 32-bit distance of a jump that ends at `behind`.
  void aim(std::size_t behind, std::size_t target) {
    const auto distance = static_cast<std::int32_t>(target) - static_cast<std::int32_t>(behind);
    std::memcpy(code_page + behind - 4, &distance, 4);
  }
  std::size_t at() const { return at_; }

 private:
  std::size_t at_ = 0;
};

struct State {
  Registers registers;
  std::array<std::uint8_t, kBufferSize> memory{};
};

struct RandomWays : testing::Test {
  // A poll, a read of the counter, a comparison with a time, two branches, and code after them.
  void write_loop(Rng& rng, std::uint64_t start, std::uint64_t time) {
    Writer to;
    Generator generator(rng, rng.chance(1, 8));
    const auto some = [&](std::uint64_t most) {
      for (std::uint64_t i = 0, n = rng.below(most + 1); i < n; ++i) to.append(generator.instruction());
    };
    std::memset(code_page, 0xcc, sizeof code_page);
    to.move(kRax, kPoll);
    to.move(kRdi, address(buffer));
    to.move(kRsi, 1);
    to.move(kRdx, address(buffer));
    to.bytes({0xff, 0xd0});  // call rax
    to.move(kR15, address(buffer + kBufferSize / 2));
    to.move(kR14, 0);
    to.bytes({0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0});  // rdtsc; shl rdx, 32; or rax, rdx
    to.move(kRcx, start);
    to.bytes({0x48, 0x29, 0xc8});  // sub rax, rcx
    to.bytes({0x49, 0x89, 0xc0});  // mov r8, rax
    for (const unsigned index : {kRcx, kRdx, kRsi, kRdi, kR9, kR10})
      to.move(index, rng.chance(1, 2) ? rng.below(100) : rng.next());
    for (const unsigned index : kKept) {
      if (rng.chance(1, 2)) to.move(index, rng.below(1000));
    }
    // mov [r15 + i], r8 or r9: memory that one of the branches may leave unchanged.
    for (int i = -128; i < 128; i += 32) {
      if (rng.chance(1, 2)) to.bytes({0x4d, 0x89, rng.chance(1, 2) ? 0x47u : 0x4fu, static_cast<unsigned>(i) & 0xff});
    }
    to.move(kR11, time);
    if (reads_twice_) {
      // rdtsc; shl rdx, 32; or rax, rdx; sub rax, start; lea r11, [r8 + i]: just as long after the first as the second is
      to.bytes({0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0});
      to.move(kRdx, start);
      to.bytes({0x48, 0x29, 0xd0, 0x4d, 0x8d, 0x58, 8 + static_cast<unsigned>(rng.below(12))});
    }
    some(2);
    to.bytes({0x4c, 0x39, 0xd8});  // cmp rax, r11
    if (rng.chance(1, 4)) some(1);
    static constexpr unsigned kConditions[] = {2, 3, 6, 7, 12, 13, 14, 15};
    const unsigned condition = kConditions[rng.below(std::size(kConditions))];
    bool sets = true;
    if (rng.chance(1, 4)) {
      to.bytes({0x0f, 0x90 + condition, 0xc1});  // setcc cl
    } else if (rng.chance(1, 4)) {
      to.bytes({0x48, 0x0f, 0x40 + condition, 0xca});  // cmovcc rcx, rdx
    } else if (rng.chance(1, 4)) {
      to.bytes({0x48, rng.chance(1, 2) ? 0x19u : 0x11u, rng.chance(1, 2) ? 0xc9u : 0xd1u});  // sbb or adc of rcx and rcx or rdx
    } else {
      sets = false;
      to.bytes({0x0f, 0x80 + condition});
      to.number(0, 4);
      const std::size_t jump = to.at();
      some(3);
      to.bytes({0xe9});
      to.number(0, 4);
      const std::size_t first = to.at();
      some(rng.below(3));
      to.aim(jump, first);
      to.aim(first, to.at());
    }
    if (sets) {
      to.bytes({0x48, 0x85, 0xc9, 0x0f, 0x84});  // test rcx, rcx; jz: what was set decides
      to.number(0, 4);
      const std::size_t jump = to.at();
      to.bytes({0x4d, 0x89, 0x47, 0x40});  // mov [r15 + 64], r8
      some(2);
      to.aim(jump, to.at());
    }
    some(3);
    to.bytes({0xe9});
    to.number(0, 4);
    to.aim(to.at(), 0);
  }

  // Executes `turns` turns from the state, whose first poll is at `look_ps`; nullopt if the loop ends.
  std::optional<State> execute(const State& from, std::int64_t look_ps, std::uint64_t turns) {
    std::copy(from.memory.begin(), from.memory.end(), std::begin(buffer));
    code_.begin();
    view_.begin(memory_, 64);
    view_.set_anchor();
    Interpreter thread(code_, view_);
    thread.state.registers = from.registers;
    Registers& now = thread.state.registers;
    std::int64_t time = look_ps;
    int reads = 0;
    for (std::uint64_t made = 0;;) {
      if (now.rip == kPoll) {
        if (made++ != 0) time += clock_.poll_ps;
        if (made > turns) break;
        reads = 0;
        if (!view_.load(now.gpr[kRsp], 8, now.rip)) return std::nullopt;
        now.gpr[kRsp] += 8;
        now.gpr[kRax] = 0;
      } else if (!thread.step()) {
        if (thread.stop().reason != Reason::kClockRead) return std::nullopt;
        time += reads++ == 0 ? clock_.counter_ps : kInRow;
        const auto counter = static_cast<std::uint64_t>(time / kPsOfCounter);
        now.gpr[kRax] = counter & 0xffff'ffff;
        now.gpr[kRdx] = counter >> 32;
        now.rip += 2;
      }
    }
    State after{now, {}};
    if (!view_.load_bytes(address(buffer), kBufferSize, after.memory.data())) return std::nullopt;
    return after;
  }

  void compare(Rng& rng) {
    clock_.poll_ps = rng.chance(1, 2) ? 10'000'000'700 : 1'000'000'300;
    reads_twice_ = rng.chance(1, 3);
    const std::int64_t period = clock_.poll_ps + clock_.counter_ps + (reads_twice_ ? kInRow : 0);
    const std::int64_t all_turns = 1'000'000'000'000 / period;
    const auto ticks = static_cast<std::uint64_t>(period / kPsOfCounter);
    const std::uint64_t start = static_cast<std::uint64_t>(clock_.look_ps / kPsOfCounter) - rng.below(4) * ticks * 3;
    write_loop(rng, start, rng.below(static_cast<std::uint64_t>(all_turns) + 8) * ticks);
    State entry;
    for (auto& byte : entry.memory) byte = static_cast<std::uint8_t>(rng.chance(1, 2) ? 0 : rng.next());
    for (const unsigned index : kKept) entry.registers.gpr[index] = rng.chance(1, 2) ? rng.below(5000) : interesting(rng);
    entry.registers.rip = address(code_page);
    entry.registers.gpr[kRsp] = address(stack + 2048);
    stack[2047] = address(code_page) + 42;  // the instruction after the call
    // Executes to the first poll and one whole turn, after which a turn's effects are present.
    const auto first = execute(entry, clock_.look_ps, 0);
    const auto second = first ? execute(*first, clock_.look_ps, 1) : std::nullopt;
    if (!second) return;
    std::copy(second->memory.begin(), second->memory.end(), std::begin(buffer));
    Limits limits;
    limits.fewest_polls = 8;
    const std::int64_t look_ps = clock_.look_ps;
    const PollLoopProof proof = prover_.prove_poll_loop(second->registers, is_poll, memory_, limits, &clock_);
    if (!proof.proven || proof.polls.size() != 1) return;
    ++proven_;
    twice_ += reads_twice_ ? 1 : 0;
    ASSERT_EQ(proof.period_ps, period);
    const std::uint64_t last = std::min<std::uint64_t>(proof.turns, 2'000);
    for (const std::uint64_t turns : {std::uint64_t{1}, std::uint64_t{2}, 3 + rng.below(last), last / 2 + 1, last}) {
      if (turns > last) continue;
      const auto real = execute(*second, look_ps, turns);
      ASSERT_TRUE(real);
      State told = *second;
      const std::uint64_t before = turns - 1;
      for (unsigned index = 0; index < 16; ++index)
        told.registers.gpr[index] = grown(proof.registers[index], told.registers.gpr[index], before);
      if (before != 0) {
        ByteRun run{address(buffer), {told.memory.begin(), told.memory.end()}};
        show_turn(proof, before, 0, run);
        std::copy(run.bytes.begin(), run.bytes.end(), told.memory.begin());
      }
      const auto after = execute(told, look_ps + static_cast<std::int64_t>(before) * period, 1);
      ASSERT_TRUE(after);
      ASSERT_EQ(after->memory, real->memory) << turns << " turns of " << proof.turns;
      for (const unsigned index : kKept) {
        ASSERT_EQ(after->registers.gpr[index], real->registers.gpr[index]) << "register " << index << ", " << turns << " turns";
      }
      ++compared_;
    }
  }

  SelfMemory memory_;
  SpinProver prover_;
  CodeCache code_;
  MemoryView view_;
  ClockModel clock_{.look_ps = 400'000'000'400, .poll_ps = 0, .counter_ps = 10'000, .counter_hz = 2'000'000'000};
  bool reads_twice_ = false;
  int twice_ = 0;
  int proven_ = 0, compared_ = 0;
};

TEST_F(RandomWays, leave_what_they_leave_when_all_turns_are_executed) {
  Rng rng(5, "tests/spin/ways");
  clock_.cost_in_row = [](std::int64_t) -> std::int64_t { return kInRow; };
  for (int i = 0; i < 4'000 && !HasFatalFailure(); ++i) {
    SCOPED_TRACE(i);
    prover_.invalidate();
    compare(rng);
  }
  EXPECT_GT(proven_, 1'000);
  EXPECT_GT(twice_, 200);
  EXPECT_GT(compared_, 5'000);
}

}  // namespace
}  // namespace verbatim::spin::random_ways

// Predictions of later turns, compared to their execution.
#include "sim/supervisor/spin/growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/comparisons.h"
#include "sim/supervisor/spin/entry_state.h"
#include "sim/supervisor/spin/kept_proofs.h"
#include "sim/supervisor/spin/spin_prover.h"
#include "tests/spin/random_code.h"
#include "tests/spin/self_memory.h"

namespace verbatim::spin {
namespace {

// Executes code from a state, with the current memory.
struct Machine {
  explicit Machine(SelfMemory& of) : memory(of) {}

  // Returns false if the interpreter stopped. `path` gets the executed addresses.
  bool run(const MachineState& start, std::uint64_t end, std::vector<std::uint64_t>& path, Observer* observer = nullptr) {
    interpreter.set_observer(observer);
    interpreter.state = start;
    path.clear();
    while (interpreter.state.registers.rip != end) {
      path.push_back(interpreter.state.registers.rip);
      if (!interpreter.step()) return false;
    }
    return true;
  }
  void begin() {
    view.begin(memory, 16);
    view.begin_tracking();
    code.begin();
  }
  const MachineState& state() const { return interpreter.state; }

  SelfMemory& memory;
  CodeCache code;
  MemoryView view;
  Interpreter interpreter{code, view};
};

void add(std::uint8_t* at, unsigned size, std::uint64_t step, std::uint64_t turns) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, size);
  value += step * turns;
  std::memcpy(at, &value, size);
}

struct Outcome {
  int compared = 0, growing = 0, growing_vectors = 0, refused = 0, groups = 0, past_turns = 0, compared_values = 0;
  // States that a kept proof was asked for, and for which it held: of its turns, with other turns of a group, and with other
  // bytes.
  int asked = 0, held = 0, held_apart = 0, held_otherwise = 0;
  std::map<const Template*, int> uses;
};

alignas(4096) std::uint8_t buffer[kBufferSize];
alignas(4096) std::uint8_t code_page[4096];

std::uint64_t small_step(Rng& rng) {
  static constexpr std::int64_t kSteps[] = {1, 1, 1, -1, 2, 3, 4, 8, -16, 100, 1024, 1ll << 32, -(1ll << 33)};
  return static_cast<std::uint64_t>(kSteps[rng.below(std::size(kSteps))]);
}

enum class Mix { kAll, kVectors };

// One random turn: compares Growth's predictions of turns 1, 2, … to their execution.
void compare_turn(Rng& rng, SelfMemory& memory, Mix mix, Outcome& outcome) {
  const bool by_vectors = mix == Mix::kVectors;
  Generator generator(rng, by_vectors || rng.chance(1, 8), by_vectors ? 3 : 16);
  std::vector<std::uint8_t> bytes;
  std::vector<const Template*> used;
  for (std::uint64_t i = 0, n = 1 + rng.below(by_vectors ? 8 : 4); i < n; ++i) {
    const std::vector<std::uint8_t> one = generator.instruction();
    bytes.insert(bytes.end(), one.begin(), one.end());
    if (generator.used() != nullptr) used.push_back(generator.used());
  }
  if (bytes.empty()) return;
  std::memset(code_page, 0x90, sizeof code_page);
  std::copy(bytes.begin(), bytes.end(), code_page);
  fill(buffer, rng, 2);
  MachineState start;
  std::array<GrowingRegister, 16> grows{};
  const bool is_kept = rng.chance(1, 2);  // as at a poll: only registers that it preserves grow
  for (unsigned i = 0; i < 16; ++i) {
    start.registers.gpr[i] = rng.chance(1, 2) ? rng.below(5000) : interesting(rng);
    if (i == kRsp || i >= kR14 || rng.chance(1, 2)) continue;
    if (is_kept && std::ranges::find(kPreserved, i) == std::end(kPreserved)) continue;
    grows[i].step = small_step(rng);
    if (!rng.chance(1, 3)) continue;
    start.registers.gpr[i] &= 0xffff'ffff;
    grows[i] = {grows[i].step & 0xffff'ffff, 4};
    if (grows[i].step == 0) grows[i] = {};
  }
  start.registers.gpr[kR15] = address(buffer + kBufferSize / 2);
  start.registers.gpr[kR14] = rng.below(16);
  start.registers.gpr[kRsp] = address(buffer + kBufferSize - 512);
  start.registers.flags = rng.next() & kArithmeticFlags;
  start.registers.rip = address(code_page);
  start.vectors.known = ~0u;
  if (by_vectors) {
    for (auto& lane : start.vectors.lane) lane = {interesting(rng), rng.next(), rng.next(), rng.next()};
  }
  const std::uint64_t end = start.registers.rip + bytes.size();

  // First run without growth. Some of the memory that is read before it is written will grow.
  Machine machine(memory);
  std::vector<std::uint64_t> path, other_path;
  machine.begin();
  if (!machine.run(start, end, path)) return;
  std::vector<GrowingCell> cells;
  std::vector<ByteRun> changed;
  std::array<std::uint8_t, kBufferSize> first;
  std::copy(std::begin(buffer), std::end(buffer), first.begin());
  for (const ByteRun& run : machine.view.reads()) {
    if (run.address < address(buffer) || run.address >= address(buffer + kBufferSize)) continue;
    const std::size_t pieces = by_vectors ? std::max<std::size_t>(run.bytes.size() / 8, 1) : 1;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const unsigned size = run.bytes.size() >= 8 ? 8 : run.bytes.size() >= 4 ? 4 : 1;
      if (rng.chance(1, 3)) continue;
      const GrowingCell cell{run.address + 8 * piece, static_cast<std::uint8_t>(size), small_step(rng) & size_mask(size)};
      if (cell.step == 0) continue;
      std::uint8_t* const at = buffer + (cell.address - address(buffer));
      add(at, size, cell.step, 1);
      for (unsigned i = 0; i < size; ++i) {
        if (at[i] != first[at + i - buffer]) changed.push_back({cell.address + i, {at[i]}});
      }
      cells.push_back(cell);
    }
  }
  std::copy(first.begin(), first.end(), std::begin(buffer));

  machine.begin();
  Growth growth(machine.view);
  Comparisons comparisons(machine.view, growth);
  growth.begin(grows, changed);
  comparisons.begin();
  if (!machine.run(start, end, path, &comparisons)) {
    ++outcome.refused;
    return;
  }
  // If memory is read in other pieces than it grows in, the turn's assumption is wrong.
  for (const GrowingCell& assumed : growth.assumed()) {
    const bool as_planned = std::any_of(cells.begin(), cells.end(), [&](const GrowingCell& cell) {
      return cell.address == assumed.address && assumed.size <= cell.size &&
             assumed.step == (cell.step & size_mask(assumed.size));
    });
    if (!as_planned) return;
  }
  // It is also wrong if a piece was read as constant because the first step does not reach it, although later
  // ones do.
  for (const ByteRun& run : machine.view.reads()) {
    for (std::uint64_t at = run.address; at < run.address + run.bytes.size(); ++at) {
      const auto has = [at](const GrowingCell& cell) { return at - cell.address < cell.size; };
      if (std::ranges::any_of(cells, has) && std::ranges::none_of(growth.assumed(), has)) return;
    }
  }
  const MachineState turn = machine.state();
  const std::vector<ByteRun> kept_reads = machine.view.reads();
  std::array<std::uint8_t, kBufferSize> left;
  ASSERT_TRUE(machine.view.load_bytes(address(buffer), kBufferSize, left.data()));
  const std::uint64_t turns = growth.turns();
  const std::vector<Comparison> compared = comparisons.found();
  const std::vector<TurnGroup> groups = groups_of(growth, grows);
  bool grew = false, vectors_grew = false;
  // Executes the turn with the assumed values at the turns that `turn_of` gives for their sources, and with other values of
  // compared memory if `changes`.
  const auto set = [&](MachineState& later, const auto& turn_of) {
    for (unsigned i = 0; i < 16; ++i) later.registers.gpr[i] = grown(grows[i], start.registers.gpr[i], turn_of(Sources{1} << i));
    for (const GrowingCell& cell : cells) {
      const auto same = [&](const GrowingCell& assumed) { return assumed.address == cell.address; };
      const auto assumed = std::ranges::find_if(growth.assumed(), same);
      const std::uint64_t n = turn_of(assumed == growth.assumed().end() ? 0 : assumed->sources);
      add(buffer + (cell.address - address(buffer)), cell.size, cell.step, n);
    }
  };
  // Gives compared memory other values with the same outcomes.
  const auto change_compared = [&] {
    for (const Comparison& one : compared) {
      if ( one.address < address(buffer) || one.address + one.size > address(buffer + kBufferSize)) continue;
      const std::uint64_t value = rng.chance(1, 2) ? one.other + rng.below(3) - 1 : interesting(rng);
      std::uint8_t* const at = buffer + (one.address - address(buffer));
      const auto fits = [&](const Comparison& other) {
        if (!overlap(one.address, one.size, other.address, other.size)) return true;
        return other.address == one.address && other.size == one.size && other.has_same_outcome(value);
      };
      if (!std::ranges::all_of(compared, fits)) continue;
      std::memcpy(at, &value, one.size);
      ++outcome.compared_values;
    }
  };
  // Executes the turn from a state at these turns. Restores the buffer.
  const auto execute = [&](const MachineState& later, const auto& turn_of, const std::string& name) {
    std::array<std::uint8_t, kBufferSize> expected = left;
    for (const Comparison& one : compared) {
      for (unsigned i = 0; i < one.size; ++i) {
        const std::uint64_t at = one.address + i - address(buffer);
        if (at < kBufferSize) expected[at] = buffer[at];
      }
    }
    machine.begin();
    const bool whole = machine.run(later, end, other_path);
    std::array<std::uint8_t, kBufferSize> now;
    ASSERT_TRUE(machine.view.load_bytes(address(buffer), kBufferSize, now.data()));
    std::copy(first.begin(), first.end(), std::begin(buffer));
    std::string text = name + ":";
    for (const std::uint8_t byte : bytes) text += " " + std::to_string(byte);
    ASSERT_TRUE(whole) << text << machine.interpreter.stop().mnemonic;
    ASSERT_EQ(path, other_path) << text;
    for (unsigned i = 0; i < 16; ++i) {
      if (!growth.is_whole(i) || (turn.known >> (32 + i) & 1) == 0) continue;
      const GrowingRegister& step = growth.registers()[i];
      grew |= step.step != 0;
      ASSERT_EQ(machine.state().registers.gpr[i], grown(step, turn.registers.gpr[i], turn_of(step.sources)))
          << "register " << i << " in " << text;
    }
    for (unsigned i = 0; i < 16; ++i) {
      if ((turn.vectors.known >> i & 1) == 0 || (turn.vectors.low_only >> i & 1) != 0) continue;
      for (const unsigned half : {0u, 1u}) {
        const Growth::GrowingHalf& grows_by = growth.vector(i)[half];
        vectors_grew |= grows_by.step != 0;
        ASSERT_EQ(machine.state().vectors.lane[i][half],
                  turn.vectors.lane[i][half] + grows_by.step * turn_of(grows_by.sources))
            << "half " << half << " of vector " << i << " in " << text;
      }
      for (const unsigned part : {2u, 3u})
        ASSERT_EQ(machine.state().vectors.lane[i][part], turn.vectors.lane[i][part]) << "vector " << i << " in " << text;
    }
    for (const GrowingCell& cell : growth.cells()) {
      if (cell.address < address(buffer) || cell.address >= address(buffer + kBufferSize)) continue;
      add(expected.data() + (cell.address - address(buffer)), cell.size, cell.step, turn_of(cell.sources));
    }
    for (int i = 0; i < kBufferSize; ++i) {
      if (now[i] == expected[i]) continue;
      const bool is_planned = std::any_of(cells.begin(), cells.end(), [&](const GrowingCell& cell) {
        return address(buffer + i) - cell.address < cell.size;
      });
      std::uint64_t byte = 0;
      ASSERT_TRUE(machine.view.load(address(buffer + i), 1, byte));
      // A piece that was not read grows nevertheless.
      const bool is_assumed = std::any_of(growth.assumed().begin(), growth.assumed().end(), [&](const GrowingCell& cell) {
        return address(buffer + i) - cell.address < cell.size;
      });
      if (is_planned && !is_assumed) continue;
      ASSERT_EQ(now[i], expected[i]) << "memory at " << i << " in " << text;
    }
    ++outcome.compared;
  };
  const auto check = [&](const auto& turn_of, bool changes, const std::string& name) {
    MachineState later = start;
    set(later, turn_of);
    if (changes) change_compared();
    execute(later, turn_of, name);
  };
  for (const std::uint64_t wanted : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, turns / 2, turns, rng.next()}) {
    const std::uint64_t n = turns == kEveryTurn ? wanted >> 8 : wanted % (turns + 1);
    if (n == 0) continue;
    check([n](Sources) { return n; }, rng.chance(1, 2), "turn " + std::to_string(n) + " of " + std::to_string(turns));
    if (testing::Test::HasFatalFailure()) return;
  }
  if (!compared.empty()) check([](Sources) { return std::uint64_t{0}; }, true, "other values of compared memory");
  for (int trial = 0; trial < 3 && !groups.empty() && !testing::Test::HasFatalFailure(); ++trial) {
    std::vector<std::uint64_t> of_group;
    std::string name = "turns";
    for (const TurnGroup& group : groups) {
      std::uint64_t n = rng.chance(1, 2) ? rng.below(100) : rng.next() >> rng.below(64);
      if (group.left(n) == 0) n = 0;
      if (group.left(n) == 0) return;  // the turn itself is another one
      of_group.push_back(n);
      name += " " + std::to_string(n);
      outcome.past_turns += n > turns;
    }
    const auto turn_of = [&](Sources sources) {
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if ((groups[i].sources & sources) != 0) return of_group[i];
      }
      return std::uint64_t{0};
    };
    outcome.groups += groups.size() > 1;
    check(turn_of, rng.chance(1, 2), name + " of " + std::to_string(turns));
  }
  outcome.growing_vectors += vectors_grew;
  // The proof as it is kept. A state for which turn_at() finds it is executed, even if the state was not made for it.
  PollLoopProof proof;
  proof.proven = true;
  proof.polls.own().push_back({.entry = {7, 0}, .registers = start.registers});
  proof.begun = start.registers;
  proof.registers = grows;
  for (unsigned i = 0; i < 16; ++i) proof.registers[i].sources = Sources{1} << i;
  proof.reads = kept_reads;
  for (const ByteRun& run : proof.reads) {
    proof.ranges.push_back({run.address, run.bytes.size()});
    proof.expected.insert(proof.expected.end(), run.bytes.begin(), run.bytes.end());
  }
  proof.cells = growth.assumed();
  proof.groups = groups;
  proof.compared = compared;
  if (turns != kEveryTurn) proof.turns = turns + 1;
  for (int trial = 0; trial < 4 && is_kept && !testing::Test::HasFatalFailure(); ++trial) {
    std::vector<std::uint64_t> of_group;
    for (std::size_t i = 0; i < groups.size(); ++i)
      of_group.push_back(rng.chance(2, 3) ? rng.below(40) : rng.next() >> rng.below(64));
    const auto turn_of = [&proof](const std::vector<std::uint64_t>& turns_of) {
      return [&proof, &turns_of](Sources sources) {
        const std::size_t group = proof.group_of(sources);
        return group == turns_of.size() ? std::uint64_t{0} : turns_of[group];
      };
    };
    MachineState later = start;
    set(later, turn_of(of_group));
    if (rng.chance(1, 2)) change_compared();
    const bool is_other = rng.chance(1, 2);
    for (std::uint64_t i = 0, n = is_other ? 1 + rng.below(2) : 0; i < n; ++i) {
      if (rng.chance(1, 4) || proof.reads.empty()) {
        later.registers.gpr[kPreserved[rng.below(std::size(kPreserved))]] += rng.below(5) - 2;
        continue;
      }
      const ByteRun& run = proof.reads[rng.below(proof.reads.size())];
      const std::uint64_t at = run.address + rng.below(run.bytes.size()) - address(buffer);
      if (at < kBufferSize) buffer[at] = static_cast<std::uint8_t>(rng.chance(1, 2) ? buffer[at] + rng.below(5) - 2 : rng.next());
    }
    ++outcome.asked;
    const std::optional<ProofTurn> found = turn_at(proof, later.registers, memory);
    if (!found) {
      std::copy(first.begin(), first.end(), std::begin(buffer));
      continue;
    }
    ASSERT_NE(found->left, 0u);
    ++outcome.held;
    outcome.held_otherwise += !found->bytes.empty();
    outcome.held_apart += std::ranges::adjacent_find(found->of_group, std::not_equal_to<>()) != found->of_group.end();
    const PollLoopProof from = from_turn(proof, *found);
    ASSERT_TRUE(std::ranges::equal(from.begun.gpr, later.registers.gpr));
    ASSERT_TRUE(still_holds(from, later.registers, memory));
    // The last of these turns has the outcomes of the first.
    const std::uint64_t further = found->left == kEveryTurn ? rng.next() >> 8 : rng.below(found->left);
    std::vector<std::uint64_t> last = found->of_group;
    if (rng.chance(1, 2)) {
      for (const unsigned index : kPreserved)
        later.registers.gpr[index] = grown(grows[index], later.registers.gpr[index], further);
      for (const GrowingCell& cell : growth.assumed())
        add(buffer + (cell.address - address(buffer)), cell.size, cell.step, further);
      for (std::uint64_t& turn : last) turn += further;
    }
    execute(later, turn_of(last), "kept proof, turn " + std::to_string(further));
  }
  if (!grew) return;
  ++outcome.growing;
  for (const Template* one : used) ++outcome.uses[one];
}

TEST(Growth, what_is_said_of_random_turns_is_what_they_do) {
  Rng rng(3, "tests/spin/growth");
  SelfMemory memory;
  memory.mapped = buffer;
  Outcome outcome;
  for (int i = 0; i < 60'000 && !HasFatalFailure(); ++i) compare_turn(rng, memory, Mix::kAll, outcome);
  EXPECT_GT(outcome.growing, 5'000);
  EXPECT_GT(outcome.compared, 20'000);
  EXPECT_GT(outcome.groups, 2'000) << "groups at turns of their own";
  EXPECT_GT(outcome.past_turns, 100) << "turns of a group after the first limit of all";
  EXPECT_GT(outcome.compared_values, 200);
  EXPECT_GT(outcome.held, 10'000) << "of " << outcome.asked;
  EXPECT_LT(outcome.held, outcome.asked * 9 / 10);
  EXPECT_GT(outcome.held_apart, 1'000);
  EXPECT_GT(outcome.held_otherwise, 50);
  for (const Template& one : kInteger) {
    EXPECT_GT(outcome.uses[&one], 5) << ZydisMnemonicGetString(one.mnemonic) << " in form " << static_cast<int>(one.form);
  }
}

TEST(Growth, halves_of_vectors_grow_as_said) {
  Rng rng(4, "tests/spin/growth");
  SelfMemory memory;
  memory.mapped = buffer;
  Outcome outcome;
  for (int i = 0; i < 60'000 && !HasFatalFailure(); ++i) compare_turn(rng, memory, Mix::kVectors, outcome);
  EXPECT_GT(outcome.growing_vectors, 2'000);
  EXPECT_GT(outcome.growing, 5'000);
}

// A byte of memory compared to a constant: the first turn with another outcome, for every value and all
// conditions.
struct Comparison : testing::Test {
  // cmp byte [r15], constant; then the condition is tested.
  void compare(unsigned condition, std::uint8_t value, std::uint8_t step, std::uint8_t constant, bool tests) {
    const std::uint8_t set[] = {0x0f, static_cast<std::uint8_t>(0x90 + condition), 0xc0};  // setcc al
    std::vector<std::uint8_t> bytes = {0x41, 0x80, 0x3f, constant};
    if (tests) bytes = {0x41, 0xf6, 0x07, constant};  // test byte [r15], constant
    bytes.insert(bytes.end(), std::begin(set), std::end(set));
    std::copy(bytes.begin(), bytes.end(), code_page);
    MachineState start;
    start.registers.gpr[kR15] = address(buffer);
    start.registers.rip = address(code_page);
    buffer[0] = value;
    machine.begin();
    Growth growth(machine.view);
    growth.begin({}, {{address(buffer), {static_cast<std::uint8_t>(value + step)}}});
    std::vector<std::uint64_t> path;
    if (!machine.run(start, start.registers.rip + bytes.size(), path, &growth)) {
      EXPECT_TRUE(growth.reason() == Reason::kGrowingResult || growth.reason() == Reason::kGrowingFlags);
      ++refused;
      return;
    }
    const auto outcome = [&](std::uint64_t turn) {
      const auto now = static_cast<std::uint8_t>(value + turn * step);
      const std::uint32_t flags = tests ? result_flags(now & constant, 1) : subtract(now, constant, 0, 1).flags;
      return condition_holds(condition, flags);
    };
    std::uint64_t first_other = 0;
    for (std::uint64_t turn = 1; turn <= 256 && first_other == 0; ++turn) {
      if (outcome(turn) != outcome(0)) first_other = turn;
    }
    const std::string text = "condition " + std::to_string(condition) + ", " + std::to_string(value) + " + n * " +
                             std::to_string(step) + " with " + std::to_string(constant);
    ASSERT_TRUE(first_other == 0 || growth.turns() < first_other) << text;
    if (growth.turns() + 1 == first_other) ++exact;
    if ((condition >> 1) == 2 && !tests) {
      ASSERT_EQ(growth.turns(), first_other == 0 ? kEveryTurn : first_other - 1) << text;
    }
    ++settled;
  }

  SelfMemory memory;
  Machine machine{memory};
  int refused = 0, settled = 0, exact = 0;
};

TEST_F(Comparison, the_outcome_stays_until_the_predicted_turn) {
  for (unsigned condition = 0; condition < 16; ++condition) {
    const bool is_refused = condition < 2 || condition / 2 == 5;  // overflow, parity
    for (unsigned value = 0; value < 256 && !HasFatalFailure(); value += 3) {
      for (const int step : {1, -1, 2, 6, -5, 64, 127, -128}) {
        for (const int constant : {0, 1, 5, 100, 127, 128, 200, 255}) {
          compare(condition, static_cast<std::uint8_t>(value), static_cast<std::uint8_t>(step),
                  static_cast<std::uint8_t>(constant), false);
        }
        for (const int mask : {0x0f, 0x40, 0xf0, 0xff, 0x01}) {
          compare(condition, static_cast<std::uint8_t>(value), static_cast<std::uint8_t>(step),
                  static_cast<std::uint8_t>(mask), true);
        }
      }
    }
    EXPECT_TRUE(is_refused || exact > 1000) << condition;
    exact = 0;
  }
  EXPECT_GT(settled, 50'000);
}

}  // namespace
}  // namespace verbatim::spin

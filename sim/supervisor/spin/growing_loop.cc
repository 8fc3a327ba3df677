// Poll loops whose state does not recur, because values grow in each turn.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/spin_prover.h"
#include "sim/supervisor/spin/turn_groups.h"

namespace verbatim::spin {
namespace {

// Registers by the ABI, as in poll_loop.cc. The stack pointer does not grow.
constexpr unsigned kKept[] = {kRbx, kRbp, kR12, kR13, kR14, kR15};
constexpr unsigned kPassed[] = {kRdi, kRsi, kRdx};

// Next horizon to try for an end between the two: the geometric mean while they are far apart, else the
// arithmetic mean.
std::uint64_t between(std::uint64_t low, std::uint64_t high) {
  constexpr std::uint64_t kFar = 4;
  if (high / kFar <= low) return low + (high - low) / 2;
  return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(low) * static_cast<double>(high)));
}

// Bytes of `before` with another value in `after`, with the values of `after`.
std::vector<ByteRun> changed(const std::vector<ByteRun>& before, const std::vector<std::uint8_t>& after) {
  std::vector<ByteRun> runs;
  std::size_t at = 0;
  for (const ByteRun& run : before) {
    for (std::size_t i = 0; i < run.bytes.size(); ++i, ++at) {
      if (run.bytes[i] == after[at]) continue;
      const std::uint64_t address = run.address + i;
      if (runs.empty() || runs.back().address + runs.back().bytes.size() != address) runs.push_back({address, {}});
      runs.back().bytes.push_back(after[at]);
    }
  }
  return runs;
}

// The run of sorted, disjoint `runs` that contains the byte, or nullptr.
const ByteRun* run_at(const std::vector<ByteRun>& runs, std::uint64_t address) {
  const auto after = std::ranges::upper_bound(runs, address, {}, &ByteRun::address);
  if (after == runs.begin()) return nullptr;
  const ByteRun& run = *std::prev(after);
  return address - run.address < run.bytes.size() ? &run : nullptr;
}

// Bytes at sorted, disjoint ranges, each known or not.
class PartialImage {
 public:
  explicit PartialImage(const std::vector<MemoryRange>& ranges) : ranges_(ranges) {
    std::size_t bytes = 0;
    for (const MemoryRange& range : ranges) {
      begins_.push_back(bytes);
      bytes += range.length;
    }
    bytes_.resize(bytes);
    is_known_.resize(bytes);
  }

  // `n` bytes; those outside the range that contains the first are ignored.
  void set(std::uint64_t address, const std::uint8_t* from, std::size_t n) {
    const auto [at, length] = find(address, n);
    std::copy_n(from, length, bytes_.begin() + static_cast<std::ptrdiff_t>(at));
    std::fill_n(is_known_.begin() + static_cast<std::ptrdiff_t>(at), length, std::uint8_t{1});
  }
  void set(const std::vector<ByteRun>& runs) {
    for (const ByteRun& run : runs) set(run.address, run.bytes.data(), run.bytes.size());
  }
  // The cells' values after turns(cell) steps. `runs` has their values in the first turn.
  template <typename Turns>
  void set(const std::vector<GrowingCell>& cells, const std::vector<ByteRun>& runs, const Turns& turns) {
    for (const GrowingCell& cell : cells) {
      const ByteRun* const from = run_at(runs, cell.address);
      if (from == nullptr) continue;
      std::uint64_t value = 0;
      const std::uint64_t offset = cell.address - from->address;
      std::memcpy(&value, from->bytes.data() + offset, std::min<std::uint64_t>(cell.size, from->bytes.size() - offset));
      value += turns(cell) * cell.step;
      set(cell.address, reinterpret_cast<const std::uint8_t*>(&value), cell.size);
    }
  }
  // Copies the known bytes to `run`.
  void copy_to(ByteRun& run) const {
    const std::uint64_t end = run.address + run.bytes.size();
    for (std::size_t i = first_past(run.address); i < ranges_.size() && ranges_[i].address < end; ++i) {
      const std::uint64_t begin = std::max(run.address, ranges_[i].address);
      const std::uint64_t until = std::min(end, ranges_[i].address + ranges_[i].length);
      for (std::uint64_t address = begin; address < until; ++address) {
        const std::size_t at = begins_[i] + (address - ranges_[i].address);
        if (is_known_[at] != 0) run.bytes[address - run.address] = bytes_[at];
      }
    }
  }

 private:
  // Index of the first range that ends after the address.
  std::size_t first_past(std::uint64_t address) const {
    const auto end_of = [](const MemoryRange& range) { return range.address + range.length; };
    return static_cast<std::size_t>(std::ranges::upper_bound(ranges_, address, {}, end_of) - ranges_.begin());
  }
  // Place in bytes_ of the `n` bytes at `address`, and the number of them before the end of their range.
  std::pair<std::size_t, std::size_t> find(std::uint64_t address, std::size_t n) const {
    const std::size_t i = first_past(address);
    if (i == ranges_.size() || address < ranges_[i].address) return {0, 0};
    const std::uint64_t offset = address - ranges_[i].address;
    return {begins_[i] + offset, std::min<std::uint64_t>(n, ranges_[i].length - offset)};
  }

  const std::vector<MemoryRange>& ranges_;
  std::vector<std::size_t> begins_;
  std::vector<std::uint8_t> bytes_, is_known_;
};

}  // namespace

bool PollLoopProof::grows() const {
  return !cells.empty() || std::any_of(registers.begin(), registers.end(), [](const GrowingRegister& grows) {
    return grows.step != 0;
  }) || std::any_of(polls.begin(), polls.end(), [](const PollPoint& poll) { return !poll.accesses->cells.empty(); });
}

std::size_t PollLoopProof::group_of(Sources sources) const {
  const auto has = [sources](const TurnGroup& group) { return (group.sources & sources) != 0; };
  return static_cast<std::size_t>(std::ranges::find_if(groups, has) - groups.begin());
}

std::uint64_t grown(const GrowingRegister& grows, std::uint64_t value, std::uint64_t turns) {
  return grows.step == 0 ? value : (value + turns * grows.step) & size_mask(grows.size);
}

void show_turn(const PollLoopProof& proof, std::uint64_t turns, std::size_t poll, std::span<ByteRun> runs) {
  PartialImage image(proof.changing);
  image.set(proof.writes);
  // Their values after the previous turn.
  image.set(proof.cells, proof.writes, [&](const GrowingCell&) { return turns - 1; });
  const auto passed = [&](const GrowingCell& cell) {
    return turns + (proof.passed.empty() ? 0 : proof.passed[proof.group_of(cell.sources)]);
  };
  for (std::size_t i = 1; i <= poll; ++i) {
    const PollAccesses& accesses = *proof.polls[i].accesses;
    image.set(accesses.written);
    image.set(accesses.cells, accesses.written, passed);
  }
  for (ByteRun& run : runs) image.copy_to(run);
}

bool SpinProver::arguments_grow(const PollEntry& poll) const {
  for (unsigned i = 0; i < std::size(kPassed); ++i) {
    const std::uint64_t mask = poll.argument_sizes[i] == 0 ? 0 : size_mask(poll.argument_sizes[i]);
    if ((growth_.registers()[kPassed[i]].step & mask) != 0 || !growth_.is_whole(kPassed[i])) return true;
  }
  return false;
}

std::uint64_t SpinProver::GrowingTurn::fewest() const { return std::max(loop.limits.fewest_polls / polls, 2U); }

std::uint64_t SpinProver::GrowingTurn::fewest_by_clock() const {
  constexpr std::uint64_t kFewer = 16, kLeast = 128;
  return std::min(fewest(), std::max(fewest() / kFewer, kLeast));
}

// Interprets one turn with steps. Fills `polls` with the state at each poll.
bool SpinProver::follow_turn(const GrowingTurn& turn, std::vector<PollPoint>& polls) {
  std::optional<PollEntry> poll = turn.loop.is_poll(turn.loop.at_entry.rip);
  polls.clear();
  memory_.note_recent();
  for (unsigned i = 0; i < turn.polls; ++i) {
    polls.push_back(poll_point(*poll));
    polls.back().accesses->cells = growth_.cells_in(polls.back().accesses->written);
    if (i != 0) polls.back().look_ps = clock_.poll();
    if (!pass_poll(turn.loop, poll)) return false;
    if (!arguments_grow(*poll)) continue;
    own_stop_ = {Reason::kGrowingCall, interpreter_.state.registers.rip, ""};
    return false;
  }
  return true;
}

// The interpreter is at the end of a turn of `polls` polls whose state differs from that at the beginning. Each
// difference is assumed to be the step of a growing value, and the turn is interpreted again with these steps.
// If the steps at its end are the assumed ones, then by induction each turn begins with the state of the one
// before plus the steps.
PollLoopProof SpinProver::grow(const PollLoop& loop, unsigned polls) {
  const std::vector<ByteRun> before = memory_.reads();
  const GrowingTurn turn{loop, polls, interpreter_.state.registers, changed(before, memory_.values(before))};
  PollLoopProof proof = grow_to(turn, 0);
  unsigned steps = steps_;
  if (clock_.reads() == 0 || period_ps_ <= 0) return proof;
  // Rules that hold for a short time only, such as a quotient that is constant for some turns.
  constexpr std::int64_t kLongPs = 500'000'000'000;
  const bool is_short =
      proof.proven && proof.turns < static_cast<std::uint64_t>(kLongPs / period_ps_) && loop.limits.may_remake;
  if (!proof.proven || is_short) {
    PollLoopProof by_rules = is_short ? PollLoopProof{} : std::move(proof);
    PollLoopProof within = grow_within(turn, std::move(by_rules));
    steps += steps_;
    if (!is_short || (within.proven && within.turns / 2 > proof.turns)) proof = std::move(within);
  }
  steps_ = steps;
  return proof;
}

// Proves the turns of one second at most, with bounds. `proof` is the result of the rules alone.
PollLoopProof SpinProver::grow_within(const GrowingTurn& turn, PollLoopProof proof) {
  unsigned steps = 0;
  // Values without a rule have bounds. The search looks for the largest number of turns in which comparisons
  // are decided.
  constexpr std::uint64_t kFarthest = 1ull << 40;
  constexpr int kTries = 4;
  const std::uint64_t fewest = turn.fewest();
  std::uint64_t failed = 0, by_rule = kEveryTurn;
  PollLoopProof bounded;
  int tries = 0;
  bool is_other = false;
  for (std::uint64_t horizon = kFarthest; tries < kTries;) {
    if (horizon < (by_rule < fewest ? fewest : turn.fewest_by_clock())) break;
    PollLoopProof further = grow_to(turn, horizon);
    steps += steps_;
    if (further.proven) {
      bounded = std::move(further);
      if (failed == 0 || bounded.turns <= horizon || horizon == by_rule) break;
      ++tries;
    } else if (further.refusal.reason == Reason::kUnsettled) {
      failed = std::min(horizon, growth_.turns());  // a second ends long before the largest horizon
      if (bounded.proven) ++tries;
    } else {
      is_other = true;
      if (!bounded.proven && further.refusal.reason != Reason::kUnevenGrowth) proof = std::move(further);
      break;
    }
    const bool is_first = by_rule == kEveryTurn;
    by_rule = std::min(by_rule, growth_.turns_by_rule());
    if (is_first && by_rule < failed && failed > fewest) {
      horizon = std::max(by_rule, fewest);  // the limit of a counter
    } else {
      horizon = bounded.proven ? between(bounded.turns, failed) : failed / 2;
    }
  }
  steps_ = steps;
  if (bounded.proven) return bounded;
  if (failed != 0 && !is_other) {
    // A counter limits the turns, or else a clock does, at `failed` turns or before.
    const bool is_few = by_rule < fewest;
    proof.refusal = {is_few ? Reason::kFewTurns : Reason::kUnsettled, turn.next.rip, ""};
    proof.turns = (is_few ? by_rule + 1 : failed) * turn.polls;
  }
  return proof;
}

// As grow(), for at most `horizon` turns; 0: for as long as the rules hold, without bounds.
PollLoopProof SpinProver::grow_to(const GrowingTurn& turn, std::uint64_t horizon) {
  PollLoopProof proof;
  const Registers& at_entry = turn.loop.at_entry;
  const std::uint64_t end = turn.next.rip;
  std::array<GrowingRegister, 16> assumed{};
  for (const unsigned index : kKept) assumed[index].step = turn.next.gpr[index] - at_entry.gpr[index];

  // The turn is interpreted a second time if a register ends with four bytes, and then grows as a 32-bit
  // value, or ends with bounds only, and then must not be read by the next turn.
  unsigned forgotten = 0;
  for (const bool again : {false, true}) {
    restart(at_entry);
    for (const unsigned index : kKept) {
      if ((forgotten >> index & 1) != 0) interpreter_.state.forget_gpr(index);
    }
    memory_.begin_tracking();
    growth_.begin(assumed, turn.differ, horizon);
    comparisons_.begin();
    interpreter_.set_observer(&comparisons_);
    follows_growth_ = true;
    const bool whole = follow_turn(turn, proof.polls.own());
    follows_growth_ = false;
    comparisons_.end();
    interpreter_.set_observer(nullptr);
    if (!whole) {
      proof.refusal = refusal();
      return proof;
    }
    bool is_other = false;
    for (const unsigned index : kKept) {
      const GrowingRegister& left = growth_.registers()[index];
      if (growth_.is_bounded(index) && !again) {
        forgotten |= 1u << index;
        assumed[index] = {};
        is_other = true;
      }
      const bool fits = (at_entry.gpr[index] | interpreter_.state.registers.gpr[index]) >> 32 == 0;
      if (left.step == 0 || left.size != 4 || assumed[index].size != 8 || !fits || again) continue;
      assumed[index] = {assumed[index].step & 0xffff'ffff, 4};
      is_other = true;
    }
    if (!is_other) break;
  }

  bool holds = clock_.reads() == 0 || clock_.period_ps() == period_ps_;
  for (const unsigned index : kKept) {
    holds &= (known_bits(index, 8) & ~interpreter_.state.known) == 0;
    if ((forgotten >> index & 1) != 0) continue;
    GrowingRegister left = growth_.registers()[index];
    if (assumed[index].size == 8) left = growth_.widened(left, interpreter_.state.registers.gpr[index]);
    if (left.step == 0) left = {};
    if (assumed[index].step == 0) assumed[index] = {};
    holds &= left == assumed[index] && growth_.is_whole(index);
  }
  // Each cell that was read first must end with its assumed step. No other cell that is read first may grow.
  const auto has = [](const std::vector<GrowingCell>& cells, const GrowingCell& cell) {
    return std::find(cells.begin(), cells.end(), cell) != cells.end();
  };
  for (const GrowingCell& cell : growth_.assumed()) holds &= has(growth_.cells(), cell);
  const std::vector<ByteRun> reads = memory_.reads();
  const auto is_read = [&](std::uint64_t address, std::uint64_t length) {
    return std::any_of(reads.begin(), reads.end(), [&](const ByteRun& run) {
      return run.address < address + length && address < run.address + run.bytes.size();
    });
  };
  for (const GrowingCell& cell : growth_.cells())
    holds &= !is_read(cell.address, cell.size) || has(growth_.assumed(), cell);
  proof.remade = growth_.bounded_memory();
  for (const MemoryRange& range : proof.remade) holds &= !is_read(range.address, range.length);
  // Every changed byte was read, and a step was assumed for it.
  for (const ByteRun& run : turn.differ) holds &= !growth_.changes(run.address, run.bytes.size(), nullptr);
  if (!holds) {
    proof.refusal = {Reason::kUnevenGrowth, end, ""};
    return proof;
  }
  if (writes_below_stack()) {
    proof.refusal = {Reason::kBelowStack, end, ""};
    return proof;
  }
  const bool is_by_clock = horizon != 0 && growth_.turns_by_rule() >= turn.fewest();
  if (growth_.turns() < (is_by_clock ? turn.fewest_by_clock() : turn.fewest())) {
    if (clock_.reads() == 0 && horizon == 0 && growth_.turns() != 0) {
      short_proof_ = std::move(proof);
      complete(*short_proof_, reads, assumed, horizon);
    }
    PollLoopProof refused;
    refused.refusal = {Reason::kFewTurns, end, ""};
    refused.turns = (growth_.turns() + 1) * turn.polls;
    return refused;
  }
  complete(proof, reads, assumed, horizon);
  return proof;
}

void SpinProver::complete(PollLoopProof& proof, const std::vector<ByteRun>& reads,
                          const std::array<GrowingRegister, 16>& registers, std::uint64_t horizon) {
  proof.proven = true;
  proof.cycle_length = steps_;
  proof.reads = reads;
  proof.writes = memory_.writes();
  proof.changed = memory_.changed();
  proof.registers = registers;
  proof.period_ps = clock_.reads() == 0 ? 0 : period_ps_;
  proof.cells = growth_.cells();
  proof.remakes = horizon != 0;
  if (growth_.turns() != kEveryTurn) proof.turns = growth_.turns() + 1;
  if (proof.period_ps != 0 || proof.remakes) return;
  for (unsigned index = 0; index < registers.size(); ++index) proof.registers[index].sources = Sources{1} << index;
  proof.groups = groups_of(growth_, registers);
  proof.compared = comparisons_.found();
}

}  // namespace verbatim::spin

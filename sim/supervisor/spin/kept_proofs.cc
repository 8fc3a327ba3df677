#include "sim/supervisor/spin/kept_proofs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "sim/core/check.h"
#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/entry_state.h"

namespace verbatim::spin {

namespace {

// Number of steps from one value to another; nullopt: not a whole number of them.
std::optional<std::uint64_t> steps_between(std::uint64_t from, std::uint64_t to, std::uint64_t step,
                                           unsigned size) {
  const std::uint64_t mask = size_mask(size);
  std::uint64_t distance = (to - from) & mask, each = step & mask;
  if (each > mask / 2) {  // it falls
    distance = (from - to) & mask;
    each = (0 - step) & mask;
  }
  if (each == 0 || distance % each != 0) return std::nullopt;
  return distance / each;
}

// The growing cells that the turn reads. nullopt: one is read in part.
std::optional<std::vector<ReadCell>> read_cells(const PollLoopProof& proof) {
  std::vector<ReadCell> found;
  for (const GrowingCell& cell : proof.cells) {
    std::size_t at = 0;
    for (const ByteRun& run : proof.reads) {
      const std::uint64_t end = run.address + run.bytes.size();
      if (cell.address >= run.address && cell.address + cell.size <= end) {
        found.push_back({cell, at + (cell.address - run.address)});
      } else if (overlap(cell.address, cell.size, run.address, run.bytes.size())) {
        return std::nullopt;
      }
      at += run.bytes.size();
    }
  }
  return found;
}

std::uint64_t value_at(const std::vector<std::uint8_t>& bytes, const ReadCell& place) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + place.at, place.cell.size);
  return value;
}

// Adds the steps of the cells within `runs`.
void grow_by(std::vector<ByteRun>& runs, const PollLoopProof& proof, const std::vector<GrowingCell>& cells,
             const ProofTurn& turn) {
  for (const GrowingCell& cell : cells) {
    for (ByteRun& run : runs) {
      if (cell.address < run.address || cell.address + cell.size > run.address + run.bytes.size()) continue;
      std::uint8_t* const place = run.bytes.data() + (cell.address - run.address);
      std::uint64_t value = 0;
      std::memcpy(&value, place, cell.size);
      value += turn.of_group[proof.group_of(cell.sources)] * cell.step;
      std::memcpy(place, &value, cell.size);
    }
  }
}

// True if `now` differs from `then` in compared bytes only, and these comparisons have the same outcome. Both
// are in the order of PollLoopProof::ranges.
bool has_same_outcomes(const PollLoopProof& proof, const std::vector<std::uint8_t>& now,
                       const std::vector<std::uint8_t>& then) {
  std::size_t begin = 0;
  for (const MemoryRange& range : proof.ranges) {
    for (std::size_t i = 0; i < range.length; ++i) {
      if (now[begin + i] == then[begin + i]) continue;
      const auto is_of_byte = [&](const Comparison& one) {
        return range.address + i - one.address < one.size;
      };
      const auto keeps = [&](const Comparison& one) {
        // A byte is compared as a part of the same whole value each time.
        if (one.address < range.address || one.address + one.size > range.address + range.length)
          return false;
        std::uint64_t value = 0;
        std::memcpy(&value, now.data() + begin + (one.address - range.address), one.size);
        return one.has_same_outcome(value);
      };
      bool is_compared = false;
      for (const Comparison& one : proof.compared) {
        if (!is_of_byte(one)) continue;
        if (!keeps(one)) return false;
        is_compared = true;
      }
      if (!is_compared) return false;
    }
    begin += range.length;
  }
  return true;
}

// `hash` of earlier words with another one.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15;
  return hash ^ hash >> 29;
}

// Hash of the bytes under the mask.
std::uint64_t hash_of(const std::vector<std::uint8_t>& bytes, const std::vector<std::uint8_t>& mask) {
  std::uint64_t hash = bytes.size();
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::size_t n = std::min<std::size_t>(8, bytes.size() - i);
    std::uint64_t word = 0, wanted = 0;
    std::memcpy(&word, bytes.data() + i, n);
    std::memcpy(&wanted, mask.data() + i, n);
    hash = mixed(hash, word & wanted);
  }
  return hash;
}

// As turn_at(), of a thread whose bytes at proof.ranges are `bytes()`; nullptr: unknown. `accepts` is asked, before the
// bytes are compared, whether a proof for this number of turns would be used. `scratch` is a buffer. Most
// candidates are refused: nothing is allocated until one is found.
template <typename Bytes, typename Accepts>
std::optional<ProofTurn> turn_of(const PollLoopProof& proof,
                                 const std::optional<std::vector<ReadCell>>& cells, const Registers& at_entry,
                                 const Bytes& bytes, const Accepts& accepts, std::vector<std::uint8_t>& scratch) {
  const std::size_t groups = proof.groups.size();
  constexpr std::size_t kMostGroups = 64;  // each has a source of its own
  CHECK(groups <= kMostGroups);
  std::array<std::uint64_t, kMostGroups> turns;  // of the groups that are known
  std::uint64_t known = 0;                       // one bit per group
  const auto set_turn = [&](std::size_t group, const std::optional<std::uint64_t>& turn) {
    if (!turn) return false;
    turns[group] = *turn;
    known |= std::uint64_t{1} << group;
    return true;
  };
  const auto is_known = [&known](std::size_t group) { return (known >> group & 1) != 0; };
  Registers begun = proof.begun;
  for (const unsigned index : kPreserved) {
    const GrowingRegister& grows = proof.registers[index];
    if (grows.step == 0) continue;
    const std::size_t group = proof.group_of(grows.sources);
    if (group == groups) continue;  // no groups: same_at_entry() requires the value of the first turn
    if (!is_known(group) &&
        !set_turn(group, steps_between(begun.gpr[index], at_entry.gpr[index], grows.step, grows.size)))
      return std::nullopt;
    begun.gpr[index] = grown(grows, begun.gpr[index], turns[group]);
  }
  if (!same_at_entry(begun, at_entry, proof.polls.front().entry)) return std::nullopt;
  const std::vector<std::uint8_t>* const now = bytes();
  if (now == nullptr) return std::nullopt;
  const auto found_with = [&](std::uint64_t left) {
    ProofTurn found{.of_group = std::vector<std::uint64_t>(groups), .left = left, .bytes = {}};
    for (std::size_t group = 0; group < groups; ++group) found.of_group[group] = is_known(group) ? turns[group] : 0;
    return found;
  };
  bool is_other = false;
  for (std::size_t group = 0; group < groups; ++group) is_other |= is_known(group) && turns[group] != 0;
  if (!is_other && *now == proof.expected) {
    if (!accepts(proof.turns)) return std::nullopt;
    return found_with(proof.turns);
  }
  if (proof.remakes || !cells) return std::nullopt;
  for (const ReadCell& one : *cells) {
    const std::size_t group = proof.group_of(one.cell.sources);
    if (group == groups) return std::nullopt;
    if (!is_known(group) && !set_turn(group, steps_between(value_at(proof.expected, one), value_at(*now, one),
                                                           one.cell.step, one.cell.size)))
      return std::nullopt;
  }
  std::uint64_t left = kEveryTurn;
  for (std::size_t group = 0; group < groups; ++group)
    left = std::min(left, proof.groups[group].left(is_known(group) ? turns[group] : 0));
  if (left == 0 || !accepts(left)) return std::nullopt;
  std::vector<std::uint8_t>& then = scratch;
  then = proof.expected;
  for (const ReadCell& one : *cells) {
    const std::uint64_t grown = value_at(then, one) + turns[proof.group_of(one.cell.sources)] * one.cell.step;
    std::memcpy(then.data() + one.at, &grown, one.cell.size);
  }
  const bool is_equal = *now == then;
  if (!is_equal && !has_same_outcomes(proof, *now, then)) return std::nullopt;
  ProofTurn found = found_with(left);
  if (!is_equal) found.bytes = *now;
  return found;
}

bool has_same_code(const PollLoopProof& proof, CodeMemory& memory) {
  ByteRun::Bytes now;
  return std::ranges::all_of(proof.code, [&](const ByteRun& code) {
    now.resize(code.bytes.size());
    return memory.read(code.address, now.data(), now.size()) && now == code.bytes;
  });
}

constexpr auto kAnyTurns = [](std::uint64_t) { return true; };

}  // namespace

bool ProofTurn::is_first() const {
  return bytes.empty() && std::ranges::all_of(of_group, [](std::uint64_t turn) { return turn == 0; });
}

std::optional<ProofTurn> turn_at(const PollLoopProof& proof, const Registers& at_entry, CodeMemory& memory) {
  if (!proof.proven) return std::nullopt;
  if (proof.period_ps != 0) return std::nullopt;  // the proof is of other times
  if (!has_same_code(proof, memory)) return std::nullopt;
  std::vector<std::uint8_t> bytes(proof.expected.size()), scratch;
  return turn_of(
      proof, read_cells(proof), at_entry,
      [&] { return memory.read_all(proof.ranges, bytes.data()) ? &bytes : nullptr; }, kAnyTurns, scratch);
}

bool still_holds(const PollLoopProof& proof, const Registers& at_entry, CodeMemory& memory) {
  const auto turn = turn_at(proof, at_entry, memory);
  return turn && turn->is_first();
}

// A proof of later turns of the same loop, which the new one includes, is replaced; else the oldest one if
// the list is full.
void KeptProofs::Ring::add(Kept one, std::size_t most) {
  std::vector<std::uint8_t> scratch;
  const auto includes = [&](const Kept& other) {
    const PollLoopProof& earlier = *one.proof;
    const PollLoopProof& later = *other.proof;
    if (one.shape != other.shape || one.hash != other.hash || earlier.polls.size() != later.polls.size() ||
        earlier.code != later.code)
      return false;
    const auto turn = turn_of(
        earlier, one.cells, later.begun, [&] { return &later.expected; }, kAnyTurns, scratch);
    return turn && turn->left >= later.turns;
  };
  const auto included = std::ranges::find_if(kept, includes);
  if (included != kept.end()) {
    *included = std::move(one);
  } else if (kept.size() < most) {
    kept.push_back(std::move(one));
  } else {
    kept[next] = std::move(one);
    next = (next + 1) % most;
  }
}

void KeptProofs::Ring::clear() {
  kept.clear();
  next = 0;
}

void KeptProofs::forget() {
  exact_.clear();
  short_.clear();
  long_.clear();
  shapes_.clear();
}

std::uint64_t KeptProofs::Shape::hash(const Registers& registers, const std::vector<std::uint8_t>& bytes) const {
  std::uint64_t hash = hash_of(bytes, fixed);
  for (const unsigned index : kPreserved) {
    if ((fixed_registers >> index & 1) != 0) hash = mixed(hash, registers.gpr[index]);
  }
  return hash;
}

std::size_t KeptProofs::shape_of(const PollLoopProof& proof,
                                 const std::optional<std::vector<ReadCell>>& cells) {
  Shape shape{proof.ranges, std::vector<std::uint8_t>(proof.expected.size(), 255), 0};
  for (const unsigned index : kPreserved) {
    const GrowingRegister& grows = proof.registers[index];
    const bool is_fixed = grows.step == 0 || proof.group_of(grows.sources) == proof.groups.size();
    if (is_fixed) shape.fixed_registers |= static_cast<std::uint16_t>(1u << index);
  }
  if (!proof.groups.empty() && cells) {
    for (const ReadCell& one : *cells)
      std::fill_n(shape.fixed.begin() + static_cast<std::ptrdiff_t>(one.at), one.cell.size, 0);
    std::size_t begin = 0;
    for (const MemoryRange& range : proof.ranges) {
      for (const Comparison& one : proof.compared) {
        for (std::uint64_t at = one.address; at < one.address + one.size; ++at) {
          if (at - range.address < range.length) shape.fixed[begin + (at - range.address)] = 0;
        }
      }
      begin += range.length;
    }
  }
  const auto same = [&shape](const Shape& other) {
    return other.ranges == shape.ranges && other.fixed == shape.fixed &&
           other.fixed_registers == shape.fixed_registers;
  };
  const auto found = std::ranges::find_if(shapes_, same);
  if (found != shapes_.end()) return static_cast<std::size_t>(found - shapes_.begin());
  if (shapes_.size() == kMostShapes) forget();
  shapes_.push_back(std::move(shape));
  return shapes_.size() - 1;
}

void KeptProofs::keep(Proof proof) {
  if (!proof->proven || proof->period_ps != 0) return;
  const bool is_exact = proof->groups.empty(), is_short = proof->polls.size() <= kFewPolls;
  Kept one{std::move(proof), {}, 0, 0};
  one.cells = read_cells(*one.proof);
  one.shape = shape_of(*one.proof, one.cells);
  one.hash = shapes_[one.shape].hash(one.proof->begun, one.proof->expected);
  Ring& ring = is_exact ? exact_ : is_short ? short_ : long_;
  ring.add(std::move(one), is_exact ? kExact : is_short ? kShort : kLong);
}

std::optional<KeptProofs::Found> KeptProofs::find(const Registers& at_entry, CodeMemory& memory,
                                                  const IsWanted& is_wanted, const IsValid& is_valid) const {
  struct Reading {
    bool is_tried = false, is_readable = false;
    std::vector<std::uint8_t> bytes;
    std::uint64_t hash = 0;
  };
  std::vector<Reading> readings(shapes_.size());
  std::vector<std::uint8_t> scratch;
  const auto reading_of = [&](const Kept& one) -> const Reading& {
    Reading& reading = readings[one.shape];
    if (std::exchange(reading.is_tried, true)) return reading;
    const Shape& shape = shapes_[one.shape];
    reading.bytes.resize(shape.fixed.size());
    reading.is_readable = memory.read_all(shape.ranges, reading.bytes.data());
    if (reading.is_readable) reading.hash = shape.hash(at_entry, reading.bytes);
    return reading;
  };
  for (const Ring* const ring : {&long_, &short_, &exact_}) {
    for (std::size_t age = 1; age <= ring->kept.size(); ++age) {
      const Kept& one = ring->kept[(ring->next + ring->kept.size() - age) % ring->kept.size()];
      // Neither grows. Most proofs are of other waits.
      const Registers& begun = one.proof->begun;
      if (begun.rip != at_entry.rip || begun.gpr[kRsp] != at_entry.gpr[kRsp]) continue;
      const Reading& reading = reading_of(one);
      if (!reading.is_readable || reading.hash != one.hash) continue;
      auto turn = turn_of(
          *one.proof, one.cells, at_entry, [&] { return &reading.bytes; },
          [&](std::uint64_t left) { return is_wanted(*one.proof, left); }, scratch);
      if (turn && has_same_code(*one.proof, memory) && is_valid(*one.proof)) return Found{one.proof, *std::move(turn)};
    }
  }
  return std::nullopt;
}

PollLoopProof from_turn(const PollLoopProof& proof, const ProofTurn& turn) {
  PollLoopProof later = proof;
  if (turn.is_first()) return later;
  later.turns = turn.left;
  Registers& begun = later.begun;
  for (const unsigned index : kPreserved) {
    const GrowingRegister& grows = proof.registers[index];
    if (grows.step != 0)
      begun.gpr[index] = grown(grows, begun.gpr[index], turn.of_group[proof.group_of(grows.sources)]);
  }
  grow_by(later.reads, proof, proof.cells, turn);
  grow_by(later.writes, proof, proof.cells, turn);
  later.passed = turn.of_group;
  later.expected.clear();
  std::size_t at = 0;
  for (ByteRun& run : later.reads) {
    if (!turn.bytes.empty())
      std::copy_n(turn.bytes.begin() + static_cast<std::ptrdiff_t>(at), run.bytes.size(), run.bytes.begin());
    at += run.bytes.size();
    later.expected.insert(later.expected.end(), run.bytes.begin(), run.bytes.end());
  }
  for (TurnGroup& group : later.groups) group.limits.clear();
  return later;
}

}  // namespace verbatim::spin

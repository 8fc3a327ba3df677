// A loop may take one path in some of the turns considered and another path in others, depending on a clock:
// the fraction of the second is larger than at the start, or smaller. Both paths are interpreted from the
// jump to the place where they meet. There, values on which the paths disagree become bounds or unknown
// (Growth::join). The turn continues with the state of the path that the first turn takes.
#include <algorithm>
#include <bit>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/spin_prover.h"

namespace verbatim::spin {

namespace {

constexpr unsigned kLongestWay = 64;  // instructions of a path
constexpr unsigned kMostWays = 2;     // nesting depth

bool contains(const std::vector<MemoryRange>& ranges, const MemoryRange& range) {
  return std::ranges::any_of(ranges, [&](const MemoryRange& one) {
    return one.address == range.address && one.length == range.length;
  });
}

// Splits the stores into pieces of at most 8 bytes. nullopt: a store has an odd length, because it crosses a
// page.
std::optional<std::vector<MemoryRange>> in_words(const std::vector<MemoryRange>& stores) {
  constexpr std::uint64_t kWord = 8;
  std::vector<MemoryRange> words;
  for (const MemoryRange& range : stores) {
    if (!std::has_single_bit(range.length)) return std::nullopt;
    for (std::uint64_t at = 0; at < range.length; at += kWord)
      words.push_back({range.address + at, std::min(range.length, kWord)});
  }
  return words;
}

// The union of both lists. nullopt: two ranges overlap in part.
std::optional<std::vector<MemoryRange>> all_of(const std::vector<MemoryRange>& a, const std::vector<MemoryRange>& b) {
  std::vector<MemoryRange> all;
  for (const auto* ranges : {&a, &b}) {
    for (const MemoryRange& range : *ranges) {
      if (contains(all, range)) continue;
      const bool overlaps = std::ranges::any_of(all, [&](const MemoryRange& one) {
        return overlap(one.address, one.length, range.address, range.length);
      });
      if (overlaps) return std::nullopt;
      all.push_back(range);
    }
  }
  return all;
}

}  // namespace

// Follows a path until it reaches one of the places in `until`. Without places it follows the path as far as
// possible, to a clock or library call or for kLongestWay instructions, and returns false. Adds the places
// passed to `*places`.
bool SpinProver::follow_way(const Limits& limits, std::span<const Place> until, std::vector<Place>* places) {
  for (unsigned i = 0;; ++i) {
    if (std::ranges::find(until, place()) != until.end()) return true;
    if (places != nullptr) places->push_back(place());
    if (i == kLongestWay || (!step(limits) && !go_both_ways(limits))) return false;
  }
}

// The interpreter has stopped. True: it had stopped at a jump with an undecided condition, and is at the
// place where both paths meet.
bool SpinProver::go_both_ways(const Limits& limits) {
  const bool is_unsettled = own_stop_.reason == Reason::kNone && interpreter_.stop().reason == Reason::kObserver &&
                            growth_.reason() == Reason::kUnsettled;
  if (!is_unsettled || !follows_growth_ || !growth_.may_go_both_ways() || ways_ == kMostWays) return false;
  MachineState& now = interpreter_.state;
  const MachineState fork = now;
  const Instruction* const in = code_.fetch(now.registers.rip, memory_);
  if (in == nullptr || in->op != Op::kJcc) return false;
  const bool is_taken = condition_holds(static_cast<unsigned>(in->condition), now.registers.flags);
  const std::uint64_t first = is_taken ? in->target : in->next, second = is_taken ? in->next : in->target;
  Growth at_fork = growth_;
  const unsigned steps = steps_;  // attempts are not steps of the turn
  bool met = true;
  const auto go = [&](std::uint64_t way, std::span<const Place> until, std::vector<Place>* places) {
    growth_ = at_fork;
    now = fork;
    now.registers.rip = way;
    steps_ = steps;
    own_stop_ = {};
    const std::size_t begin = memory_.begin_way();
    growth_.begin_way();
    ++ways_;
    met = follow_way(limits, until, places);
    --ways_;
    growth_.end_way();
    at_fork.take_over(growth_);
    return begin;
  };
  const auto give_up = [&] {
    growth_ = at_fork;
    now = fork;
    steps_ = steps;
    own_stop_ = {Reason::kUnsettled, fork.registers.rip, ""};
    return false;
  };

  std::vector<Place> places;
  memory_.take_back(go(first, {}, &places));
  std::size_t begin = go(second, places, nullptr);
  const Place meeting = place();
  const auto of_second = in_words(memory_.stores_since(begin));
  memory_.take_back(begin);
  if (!met) return give_up();
  begin = go(first, {&meeting, 1}, nullptr);
  const auto of_first = in_words(memory_.stores_since(begin));
  memory_.take_back(begin);
  if (!met || !of_first || !of_second) return give_up();
  const auto stores = all_of(*of_first, *of_second);
  if (!stores) return give_up();
  // Memory that only one path stores must have been stored earlier in the turn. Otherwise an earlier turn
  // determines its value.
  for (const MemoryRange& range : *stores) {
    const bool by_both = contains(*of_first, range) && contains(*of_second, range);
    if (!by_both && !memory_.is_written(range)) return give_up();
  }

  begin = go(second, {&meeting, 1}, nullptr);
  const std::vector<Growth::Content> others = growth_.contents(*stores);
  Growth other = growth_;
  const MachineState there = now;
  memory_.take_back(begin);
  begin = go(first, {&meeting, 1}, nullptr);
  const std::vector<Growth::Content> mine = growth_.contents(*stores);
  const bool is_known = mine.size() == stores->size() && others.size() == stores->size();
  if (!is_known || !growth_.join(other, there, now, mine, others)) {
    memory_.take_back(begin);
    return give_up();
  }
  memory_.end_way();
  // Stores the values again, so that an enclosing path counts the stores of both paths among its own.
  for (const MemoryRange& range : *stores) {
    std::uint64_t value = 0;
    if (!memory_.load(range.address, static_cast<unsigned>(range.length), value) ||
        !memory_.store(range.address, static_cast<unsigned>(range.length), value)) {
      return give_up();
    }
  }
  own_stop_ = {};
  return true;
}

}  // namespace verbatim::spin

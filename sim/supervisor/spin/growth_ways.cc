// Merges the states of two paths of a jump where they meet. Some turns take one path, other turns the other.
#include <algorithm>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/growth.h"

namespace verbatim::spin {

void Growth::take_over(const Growth& way) {
  for (std::size_t i = assumed_.size(); i < way.assumed_.size(); ++i) cells_.push_back(way.assumed_[i]);
  assumed_ = way.assumed_;
  constant_ = way.constant_;
  turns_ = std::min(turns_, way.turns_);
  turns_by_rule_ = std::min(turns_by_rule_, way.turns_by_rule_);
  went_both_ways_ = true;
}

// Empty: the content of one is unknown.
std::vector<Growth::Content> Growth::contents(const std::vector<MemoryRange>& stores) {
  std::vector<Content> all;
  for (const MemoryRange& range : stores) {
    Content content{.range = range};
    const auto size = static_cast<unsigned>(range.length);
    content.is_bounded = uses_memory(range.address, size) == Uses::kBounds;
    if (!content.is_bounded) {
      Value value;
      if (!load(range.address, size, value)) return {};
      content.now = value.now;
      content.step = value.step;
    }
    if (!load_bounds(range.address, size, content.bounds)) return {};
    all.push_back(content);
  }
  return all;
}

// The union of both bounds, signed or unsigned, whichever is narrower.
bool Growth::joined(const Bounds& a, const Bounds& b, Bounds& both) {
  if (a.is_floating || b.is_floating || a.size != b.size) return false;
  const auto around = [](const Range& x, const Range& y) { return Range{std::min(x.least, y.least), std::max(x.most, y.most)}; };
  const Range without = around(as_unsigned(a.range, a.size), as_unsigned(b.range, a.size));
  const Range with = around(as_signed(a.range, a.size), as_signed(b.range, a.size));
  both = {.range = without.most - without.least <= with.most - with.least ? without : with, .size = a.size};
  return true;
}

void Growth::join_registers(Growth& other, const MachineState& there, MachineState& here) {
  state_ = &here;
  other.state_ = &there;
  for (unsigned index = 0; index < 16; ++index) {
    const std::uint64_t bits = known_bits(index, 8);
    const bool is_same = ((here.known ^ there.known) & bits) == 0 && registers_[index] == other.registers_[index] &&
                         here.registers.gpr[index] == there.registers.gpr[index] &&
                         constant_low_[index] == other.constant_low_[index] &&
                         register_bounds_[index] == other.register_bounds_[index];
    if (is_same) continue;
    Bounds mine, others, both;
    const bool is_bounded = (here.known & there.known & bits) == bits && read_register_bounds(index, 8, mine) &&
                            other.read_register_bounds(index, 8, others) && joined(mine, others, both);
    registers_[index] = {};
    constant_low_[index] = 0;
    register_bounds_[index].reset();
    if (!is_bounded) here.forget_gpr(index);
    else if (!both.range.is_single()) register_bounds_[index] = both;
  }
}

// Registers that differ become unknown.
void Growth::join_vectors(const Growth& other, const MachineState& there, MachineState& here) {
  VectorRegisters& mine = here.vectors;
  const VectorRegisters& others = there.vectors;
  for (unsigned index = 0; index < 16; ++index) {
    const std::uint32_t both_halves = 0x1'0001u << index, low = 1u << index;
    const bool is_same = mine.lane[index] == others.lane[index] && ((mine.known ^ others.known) & both_halves) == 0 &&
                         (((mine.low_only ^ others.low_only) | (mine.lowest_only ^ others.lowest_only)) & low) == 0 &&
                         vector_bounds_[index] == other.vector_bounds_[index] &&
                         high_bounds_[index] == other.high_bounds_[index];
    if (is_same) continue;
    vector_bounds_[index].reset();
    high_bounds_[index].reset();
    mine.lane[index] = {};
    mine.known &= ~both_halves;
    mine.low_only &= ~low;
    mine.lowest_only &= ~low;
  }
  mine.cleared_above &= others.cleared_above;
}

bool Growth::join(Growth& other, const MachineState& there, MachineState& here, const std::vector<Content>& mine,
                  const std::vector<Content>& others) {
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const Content &a = mine[i], &b = others[i];
    if (a.is_bounded == b.is_bounded && a.now == b.now && a.step == b.step && a.bounds == b.bounds) continue;
    Bounds both;
    if (!joined(a.bounds, b.bounds, both) || !store_bounds(a.range.address, static_cast<unsigned>(a.range.length), both))
      return fail(Reason::kUnsettled);
  }
  join_registers(other, there, here);
  join_vectors(other, there, here);
  here.forget_flags(kArithmeticFlags);
  growing_flags_ = flags_set_ = 0;
  flags_bounded_ = false;
  sign_size_ = 0;
  turns_ = std::min(turns_, other.turns_);
  turns_by_rule_ = std::min(turns_by_rule_, other.turns_by_rule_);
  reason_ = Reason::kNone;
  went_both_ways_ = true;
  return true;
}

}  // namespace verbatim::spin

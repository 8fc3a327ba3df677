// Division by several shifts: bits removed by a shift stay pending and carry into the register only when it
// is read (Growth::Rest).
#include <algorithm>
#include <bit>
#include <utility>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/growth.h"

namespace verbatim::spin {

Growth::Rest Growth::rest_of(const Operand& operand) const {
  return operand.kind == Operand::Kind::kRegister ? rests_[operand.index] : Rest{};
}

// Called after the shifted value was written: keeps its rest pending, or limits turns() if that is
// impossible.
bool Growth::leave_rest(const Operand& operand, unsigned size, Rest rest) {
  if (rest.bits == 0) return true;
  // Within these limits bounds are computed without overflow.
  constexpr unsigned kMostBits = 48;
  constexpr __int128 kLargestStep = static_cast<__int128>(1) << 70;
  if (operand.kind != Operand::Kind::kRegister || rest.bits > kMostBits) {
    keep_rest_within(rest);
    return true;
  }
  rest.size = size;
  const GrowingRegister& grows = registers_[operand.index];
  const __int128 step = as_signed(grows.step, size) * (static_cast<__int128>(1) << rest.bits) + rest.step;
  if (step < kLargestStep && step > -kLargestStep) rests_[operand.index] = rest;
  else keep_rest_within(rest);
  return true;
}

void Growth::keep_rest_within(const Rest& rest) {
  keep_within(rest.low, rest.step, 0, (static_cast<__int128>(1) << rest.bits) - 1);
}

void Growth::settle_rest(unsigned index) {
  const Rest rest = std::exchange(rests_[index], {});
  if (rest.bits == 0) return;
  const std::uint64_t before = turns_;
  keep_rest_within(rest);
  if (horizon_ == 0 || turns_ >= horizon_ || turns_ == before) return;
  // The rule does not hold in all turns considered. Bounds replace it. They limit neither turns() nor
  // turns_by_rule(): a carry out of the rest ends no loop, and a search that stopped there would park fewer.
  turns_ = before;
  const __int128 one = static_cast<__int128>(1) << rest.bits;
  const std::uint64_t now = state_->registers.gpr[index] & size_mask(rest.size);
  const Range all = bounds(now * one + rest.low, as_signed(registers_[index].step, rest.size) * one + rest.step);
  registers_[index] = {};
  register_bounds_[index] =
      Bounds{.range = narrowest({all.least >> rest.bits, all.most >> rest.bits}, rest.size), .size = rest.size};
  if (register_bounds_[index]->range.is_single()) register_bounds_[index].reset();
}

void Growth::settle_rests() {
  for (unsigned index = 0; index < 16; ++index) settle_rest(index);
}

// Settles the registers that the instruction reads, except one whose rest a shift or move passes on.
void Growth::settle_rests(const Instruction& in) {
  const bool is_move = in.op == Op::kMov && in.size == in.source_size;
  const bool shifts = in.op == Op::kShr || in.op == Op::kSar || in.op == Op::kShrx || in.op == Op::kSarx;
  const Operand& from = is_move || is_flagless_shift(in.op) ? in.source : in.destination;
  const bool carries = (is_move || shifts) && in.size >= 4 && in.destination.kind == Operand::Kind::kRegister &&
                       from.kind == Operand::Kind::kRegister;
  static_assert(known_bits(0, 8) == 0x1'0001'0001);
  for (std::uint64_t read = (in.needs | in.needs >> 16 | in.needs >> 32) & 0xffff; read != 0; read &= read - 1) {
    const auto index = static_cast<unsigned>(std::countr_zero(read));
    if (rests_[index].bits == 0 || (carries && from.index == index && rests_[index].size >= in.size)) continue;
    settle_rest(index);
  }
}

}  // namespace verbatim::spin

// Values with bounds, see growth.h and range.h.
#include <algorithm>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/growth.h"

namespace verbatim::spin {
namespace {

constexpr unsigned kWidest = 32;  // bytes of an operand in memory

}  // namespace

bool Growth::set_register(unsigned index, unsigned size, const Range& range) {
  return write_register_bounds(index, size, {.range = range, .size = size});
}

bool Growth::set_memory(std::uint64_t address, unsigned size, const Range& range) {
  return store_bounds(address, size, {.range = range, .size = size});
}

Range Growth::bounds(__int128 value, __int128 step) const {
  const __int128 last = value + step * static_cast<__int128>(std::min(turns_, horizon_));
  return {std::min(value, last), std::max(value, last)};
}

std::vector<MemoryRange> Growth::bounded_memory() const {
  std::vector<MemoryRange> ranges;
  for (const BoundedCell& cell : bounded_) ranges.push_back({cell.address, cell.bounds.size});
  return ranges;
}

Growth::Uses Growth::uses_memory(std::uint64_t address, std::uint64_t length) const {
  for (const BoundedCell& cell : bounded_) {
    if (overlap(address, length, cell.address, cell.bounds.size)) return Uses::kBounds;
  }
  const bool grows = std::any_of(cells_.begin(), cells_.end(), [&](const GrowingCell& cell) {
    return overlap(address, length, cell.address, cell.size);
  });
  return grows || changes(address, length, nullptr) ? Uses::kRule : Uses::kConstant;
}

// The least specific kind of value that the instruction reads: constant, by rule, or within bounds.
Growth::Uses Growth::uses(const Instruction& in) const {
  Uses most = Uses::kConstant;
  for (unsigned index = 0; index < 16; ++index) {
    if ((in.needs & known_bits(index, 8)) == 0) continue;
    if (register_bounds_[index]) return Uses::kBounds;
    if (registers_[index].step != 0) most = Uses::kRule;
  }
  for (const Operand* operand : {&in.destination, &in.source, &in.source2}) {
    if (is_vector(*operand) && (vector_bounds_[operand->index] || high_bounds_[operand->index])) return Uses::kBounds;
    if (is_vector(*operand) && grows(halves_[operand->index])) most = Uses::kRule;
    if (is_memory(*operand)) most = std::max(most, uses_memory(address_, std::min<unsigned>(in.size, kWidest)));
    if (is_memory(*operand) && in.source_size > in.size) most = std::max(most, uses_memory(address_, in.source_size));
  }
  if (in.op == Op::kPop || in.op == Op::kRet) most = std::max(most, uses_memory(state_->registers.gpr[kRsp], 8));
  if (in.op == Op::kLeave) most = std::max(most, uses_memory(state_->registers.gpr[kRbp], 8));
  return most;
}

bool Growth::read_register_bounds(unsigned index, unsigned size, Bounds& bounds) {
  const unsigned low = constant_low_[index];
  if (low != 0) {
    const __int128 value = state_->registers.gpr[index] & size_mask(size);
    bounds = {.range = {value, value}, .size = size};
    if (size > low) bounds.range = {0, static_cast<__int128>(size_mask(size))}, bounds.constant_low = low;
    return true;
  }
  if (register_bounds_[index]) {
    bounds = *register_bounds_[index];
    if (size == bounds.size) return true;
    // The low part, or the whole zero-extended.
    if (bounds.is_floating) return fail(Reason::kGrowingPart);
    if (bounds.size < size && bounds.size < 4) {
      bounds = {.range = {0, static_cast<__int128>(size_mask(size))}, .size = size};
      return true;
    }
    bounds.range = size < bounds.size ? narrowest(bounds.range, size) : as_unsigned(bounds.range, bounds.size);
    bounds.size = size;
    return true;
  }
  const GrowingRegister& grows = registers_[index];
  const std::uint64_t now = state_->registers.gpr[index];
  const unsigned own = grows.step == 0 ? 8 : grows.size;
  const Range all = this->bounds(now & size_mask(own), as_signed(grows.step, own));
  bounds = {.range = size <= own ? narrowest(all, size) : as_unsigned(all, own), .size = size};
  return true;
}

bool Growth::load_bounds(std::uint64_t address, unsigned size, Bounds& bounds) {
  for (const BoundedCell& cell : bounded_) {
    if (!overlap(address, size, cell.address, cell.bounds.size)) continue;
    if (cell.address != address || size > cell.bounds.size || (cell.bounds.is_floating && size != cell.bounds.size))
      return fail(Reason::kGrowingPart);
    bounds = cell.bounds;
    bounds.size = size;
    if (!bounds.is_floating) bounds.range = narrowest(bounds.range, size);
    return true;
  }
  Value value;
  if (!load(address, size, value)) return false;
  bounds = {.range = narrowest(this->bounds(value.now, as_signed(value.step, size)), size), .size = size};
  return true;
}

bool Growth::read_bounds(const Instruction& in, const Operand& operand, unsigned size, Bounds& bounds) {
  switch (operand.kind) {
    case Operand::Kind::kRegister:
      return read_register_bounds(operand.index, size, bounds);
    case Operand::Kind::kImmediate: {
      const __int128 value = in.immediate & size_mask(size);
      bounds = {.range = {value, value}, .size = size};
      return true;
    }
    case Operand::Kind::kMemory:
      return load_bounds(address_, size, bounds);
    default:
      return fail(Reason::kGrowingPart);
  }
}

bool Growth::read_range(const Instruction& in, const Operand& operand, unsigned size, Range& range) {
  Bounds bounds;
  if (!read_bounds(in, operand, size, bounds)) return false;
  range = bounds.range;
  return !bounds.is_floating || fail(Reason::kGrowingResult);
}

bool Growth::write_register_bounds(unsigned index, unsigned size, const Bounds& bounds) {
  if (size < 4 && !(!bounds.is_floating && bounds.range.is_single())) return fail(Reason::kGrowingPart);
  if (!write_register(index, size, 0)) return false;
  if (!bounds.is_floating && bounds.range.is_single()) return true;
  register_bounds_[index] = bounds;
  register_bounds_[index]->size = size;
  constant_low_[index] = static_cast<std::uint8_t>(bounds.constant_low);
  return true;
}

bool Growth::store_bounds(std::uint64_t address, unsigned size, const Bounds& bounds) {
  if (!store(address, size, 0)) return false;
  if (!bounds.is_floating && bounds.range.is_single()) return true;
  bounded_.push_back({address, bounds});
  bounded_.back().bounds.size = size;
  bounded_.back().bounds.constant_low = 0;
  return true;
}

bool Growth::write_bounds(const Operand& operand, unsigned size, const Bounds& bounds) {
  switch (operand.kind) {
    case Operand::Kind::kRegister:
      return write_register_bounds(operand.index, size, bounds);
    case Operand::Kind::kMemory:
      return store_bounds(address_, size, bounds);
    default:
      return fail(Reason::kGrowingPart);
  }
}

bool Growth::write_range(const Operand& operand, unsigned size, const Range& range) {
  return write_bounds(operand, size, {.range = narrowest(range, size), .size = size});
}

void Growth::set_bounded_flags(FlagsOf what, const Range& a, const Range& b, unsigned size, std::uint32_t affected,
                               std::uint32_t usable) {
  growing_flags_ |= affected;
  flags_set_ = usable;
  flags_of_ = what;
  flags_range_a_ = a;
  flags_range_b_ = b;
  flags_size_ = size;
  flags_bounded_ = true;
}

bool Growth::settle_bounds(unsigned condition) {
  std::optional<bool> outcome;
  const Range &a = flags_range_a_, &b = flags_range_b_;
  if (flags_of_ == FlagsOf::kDifference) {
    outcome = compare(condition, a, b, flags_size_);
  } else if (flags_of_ == FlagsOf::kSum && ((condition >> 1) == 2 || (condition >> 1) == 4)) {
    outcome = compare(condition, *combine(Op::kAdd, a, b, flags_size_), {}, flags_size_);
  }
  if (!outcome) return fail(Reason::kUnsettled);
  return *outcome == condition_holds(condition, state_->registers.flags) || fail(Reason::kGrowingFlags);
}

bool Growth::follow_bounds(const Instruction& in) {
  if (in.op != Op::kLea && (is_memory(in.destination) || is_memory(in.source) || is_memory(in.source2))) {
    for (const unsigned index : {in.base, in.index}) {
      if (index == Instruction::kNoRegister) continue;
      if (registers_[index].step != 0 || register_bounds_[index]) return fail(Reason::kGrowingAddress);
    }
  }
  switch (in.op) {
    case Op::kMov:
    case Op::kMovsx:
    case Op::kCmovcc:
    case Op::kLea:
    case Op::kPush:
    case Op::kPop:
    case Op::kXchg:
      return bounded_move(in);
    case Op::kAdd:
    case Op::kAdc:
    case Op::kSub:
    case Op::kSbb:
    case Op::kCmp:
    case Op::kNeg:
    case Op::kNot:
    case Op::kInc:
    case Op::kDec:
      return bounded_sum(in);
    case Op::kTest:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      return bounded_logic(in);
    case Op::kShl:
    case Op::kShr:
    case Op::kSar:
    case Op::kShlx:
    case Op::kShrx:
    case Op::kSarx:
      return bounded_shift(in);
    case Op::kMul:
    case Op::kImulWide:
    case Op::kImul:
    case Op::kMulx:
      return bounded_product(in);
    case Op::kDiv:
    case Op::kIdiv:
      return bounded_quotient(in);
    case Op::kExtendAccumulator:
    case Op::kSpreadSign:
      return bounded_accumulator(in);
    case Op::kSetcc:
      return settle(in, static_cast<unsigned>(in.condition)) && write(in.destination, 1, 0);
    default:
      return in.op >= Op::kVectorMove ? bounded_vector(in) : fail(Reason::kGrowingResult);
  }
}

bool Growth::bounded_move(const Instruction& in) {
  Bounds bounds, other;
  const std::uint64_t stack = state_->registers.gpr[kRsp];
  switch (in.op) {
    case Op::kMov:
    case Op::kMovsx:
      if (!read_bounds(in, in.source, in.source_size, bounds)) return false;
      if (bounds.is_floating) {
        return in.size == in.source_size ? write_bounds(in.destination, in.size, bounds) : fail(Reason::kGrowingPart);
      }
      if (in.op == Op::kMov && in.size > in.source_size) bounds.range = as_unsigned(bounds.range, in.source_size);
      if (in.op == Op::kMovsx && in.size != in.source_size)
        bounds.range = narrowest(as_signed(bounds.range, in.source_size), in.size);
      return write_bounds(in.destination, in.size, bounds);
    case Op::kCmovcc: {
      const auto condition = static_cast<unsigned>(in.condition);
      if (!settle(in, condition)) return false;
      const Operand& from = condition_holds(condition, state_->registers.flags) ? in.source : in.destination;
      return read_bounds(in, from, in.size, bounds) && write_bounds(in.destination, in.size, bounds);
    }
    case Op::kLea: {
      const unsigned size = in.address32 ? 4 : in.size;
      const Range displaced{static_cast<std::int64_t>(in.displacement), static_cast<std::int64_t>(in.displacement)};
      Bounds sum{.range = displaced, .size = size};
      for (const auto& [index, scale] : {std::pair<unsigned, unsigned>{in.base, 1u}, {in.index, in.scale}}) {
        if (index == Instruction::kNoRegister) continue;
        if (!read_register_bounds(index, size, bounds)) return false;
        if (bounds.is_floating) return fail(Reason::kGrowingResult);
        sum.range = {sum.range.least + bounds.range.least * scale, sum.range.most + bounds.range.most * scale};
      }
      sum.range = narrowest(as_unsigned(sum.range, size), in.size);
      sum.size = in.size;
      return write_bounds(in.destination, in.size, sum);
    }
    case Op::kPush:
      return read_bounds(in, in.source, 8, bounds) && store_bounds(stack - 8, 8, bounds);
    case Op::kPop:
      return load_bounds(stack, 8, bounds) && write_register_bounds(in.destination.index, 8, bounds);
    default:  // XCHG
      return read_bounds(in, in.destination, in.size, bounds) && read_bounds(in, in.source, in.size, other) &&
             write_bounds(in.destination, in.size, other) && write_bounds(in.source, in.size, bounds);
  }
}

bool Growth::bounded_sum(const Instruction& in) {
  Bounds a, b;
  const unsigned size = in.size;
  if (!read_bounds(in, in.destination, size, a)) return false;
  if (a.is_floating) return fail(Reason::kGrowingResult);
  const Bounds one{.range = {1, 1}, .size = size};
  switch (in.op) {
    case Op::kNot:
      return write_range(in.destination, size, {-1 - a.range.most, -1 - a.range.least});
    case Op::kNeg:
      set_bounded_flags(FlagsOf::kDifference, {}, a.range, size, kArithmeticFlags, kArithmeticFlags);
      return write_range(in.destination, size, {-a.range.most, -a.range.least});
    case Op::kInc:
    case Op::kDec: {
      const bool up = in.op == Op::kInc;
      set_bounded_flags(up ? FlagsOf::kSum : FlagsOf::kDifference, a.range, one.range, size, kArithmeticFlags & ~kCf,
                        kArithmeticFlags & ~kCf);
      const Range result = *combine(up ? Op::kAdd : Op::kSub, a.range, one.range, size);
      return write_bounds(in.destination, size, {.range = result, .size = size});
    }
    default:
      break;
  }
  const bool carries = in.op == Op::kAdc || in.op == Op::kSbb, is_sum = in.op == Op::kAdd || in.op == Op::kAdc;
  if (carries && !settle(in, static_cast<unsigned>(Condition::kB))) return false;
  const __int128 carry = carries && (state_->registers.flags & kCf) != 0 ? 1 : 0;
  if (!read_bounds(in, in.source, size, b)) return false;
  if (b.is_floating) return fail(Reason::kGrowingResult);
  if (!is_sum && in.destination.kind == Operand::Kind::kRegister && in.source.kind == Operand::Kind::kRegister &&
      in.destination.index == in.source.index) {
    a = b = {.size = size};  // the result is 0
  }
  set_bounded_flags(is_sum ? FlagsOf::kSum : FlagsOf::kDifference, a.range, b.range, size, kArithmeticFlags,
                    carries ? 0 : kArithmeticFlags);
  if (in.op == Op::kCmp) return true;
  b.range = {b.range.least + carry, b.range.most + carry};
  const Range result = *combine(is_sum ? Op::kAdd : Op::kSub, a.range, b.range, size);
  return write_bounds(in.destination, size, {.range = result, .size = size});
}

bool Growth::bounded_logic(const Instruction& in) {
  Bounds first, second;
  if (!read_bounds(in, in.destination, in.size, first) || !read_bounds(in, in.source, in.size, second)) return false;
  if (first.is_floating || second.is_floating) return fail(Reason::kGrowingResult);
  const Range &a = first.range, &b = second.range;
  const bool is_same = in.destination.kind == Operand::Kind::kRegister && in.source.kind == Operand::Kind::kRegister &&
                       in.destination.index == in.source.index;
  const Range result = is_same && in.op != Op::kXor ? a : *combine(in.op, a, b, in.size);
  set_bounded_flags(FlagsOf::kDifference, result, {}, in.size, kArithmeticFlags, kArithmeticFlags);
  if (in.op == Op::kTest) return true;
  // Low bytes that are constant in both operands are constant in the result.
  const auto low = [](const Bounds& of) { return of.range.is_single() ? of.size : of.constant_low; };
  const unsigned same = std::min(low(first), low(second));
  return write_bounds(in.destination, in.size, {.range = as_unsigned(result, in.size), .size = in.size, .constant_low = same});
}

bool Growth::bounded_shift(const Instruction& in) {
  const bool has_flags = !is_flagless_shift(in.op);
  Range a, by;
  if (!read_range(in, has_flags ? in.destination : in.source, in.size, a)) return false;
  if (!read_range(in, has_flags ? in.source : in.source2, has_flags ? 1 : in.size, by)) return false;
  const std::optional<Range> result = combine(in.op, a, by, in.size);
  if (!result || in.size < 4) return fail(Reason::kGrowingResult);
  if (has_flags && (static_cast<unsigned>(by.least) & (in.size == 8 ? 63 : 31)) != 0) {
    set_bounded_flags(FlagsOf::kDifference, *result, {}, in.size, kArithmeticFlags, kZf | kSf);
  }
  return write_range(in.destination, in.size, *result);
}

bool Growth::bounded_product(const Instruction& in) {
  Range a, b;
  const unsigned size = in.size;
  constexpr Operand kAccumulator{Operand::Kind::kRegister, kRax}, kUpper{Operand::Kind::kRegister, kRdx};
  if (in.op == Op::kMulx) {
    if (!read_range(in, in.source2, size, a) || !read_range(in, kUpper, size, b)) return false;
    const TwoRanges product = multiply_wide(a, b, size, false);
    return write_range(in.source, size, product.low) && write_range(in.destination, size, product.high);
  }
  set_bounded_flags(FlagsOf::kNothing, {}, {}, size, kArithmeticFlags, 0);
  if (in.op == Op::kImul) {
    return read_range(in, in.source, size, a) && read_range(in, in.source2, size, b) &&
           write_range(in.destination, size, *combine(Op::kImul, a, b, size));
  }
  if (size < 4 || !read_range(in, in.destination, size, a) || !read_range(in, kAccumulator, size, b))
    return size >= 4 ? false : fail(Reason::kGrowingResult);
  const TwoRanges product = multiply_wide(a, b, size, in.op == Op::kImulWide);
  return write_range(kAccumulator, size, product.low) && write_range(kUpper, size, product.high);
}

// Division of a number whose upper half is its sign extension.
bool Growth::bounded_quotient(const Instruction& in) {
  Range divisor, low, high;
  const unsigned size = in.size;
  const bool is_signed = in.op == Op::kIdiv;
  if (size < 4) return fail(Reason::kGrowingResult);
  constexpr Operand kAccumulator{Operand::Kind::kRegister, kRax}, kUpper{Operand::Kind::kRegister, kRdx};
  if (!read_range(in, in.destination, size, divisor) || !read_range(in, kAccumulator, size, low) ||
      !read_range(in, kUpper, size, high)) {
    return false;
  }
  const Range signed_low = as_signed(low, size);
  const bool is_extended = is_signed ? sign_size_ == size || (signed_low.least >= 0 && high == Range{}) ||
                                           (signed_low.most < 0 && as_signed(high, size) == Range{-1, -1})
                                     : high == Range{};
  if (!is_extended) return fail(Reason::kUnsettled);
  const auto result = divide(low, divisor, size, is_signed);
  if (!result) return fail(Reason::kGrowingResult);
  set_bounded_flags(FlagsOf::kNothing, {}, {}, size, kArithmeticFlags, 0);
  return write_range(kAccumulator, size, result->low) && write_range(kUpper, size, result->high);
}

bool Growth::bounded_accumulator(const Instruction& in) {
  constexpr Operand kAccumulator{Operand::Kind::kRegister, kRax}, kUpper{Operand::Kind::kRegister, kRdx};
  const unsigned from = in.op == Op::kExtendAccumulator ? in.size / 2 : in.size;
  Range a;
  if (!read_range(in, kAccumulator, from, a)) return false;
  a = as_signed(a, from);
  if (in.op == Op::kExtendAccumulator) return write_range(kAccumulator, in.size, a);
  if (!write_range(kUpper, in.size, {a.least < 0 ? -1 : 0, a.most < 0 ? -1 : 0})) return false;
  sign_size_ = in.size;
  return true;
}

}  // namespace verbatim::spin

// The rules for growing values, by kind of instruction.
#include <algorithm>
#include <bit>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/growth.h"

namespace verbatim::spin {
namespace {

constexpr unsigned kBelow = 2;  // condition code of CF

bool same_register(const Instruction& in) {
  return in.destination.kind == Operand::Kind::kRegister && in.source.kind == Operand::Kind::kRegister &&
         in.destination.index == in.source.index;
}

// Number of turns after which a value that grows by `step` has the same bits under `mask` again; 0: it is too large, or the bits
// are constant.
std::uint64_t period_of_bits(std::uint64_t step, std::uint64_t mask) {
  constexpr int kMostBits = 16;
  const int bits = std::bit_width(mask) - std::countr_zero(step);
  return bits > 0 && bits <= kMostBits ? std::uint64_t{1} << bits : 0;
}

}  // namespace

bool Growth::follow(const Instruction& in, const MachineState& state, std::uint64_t address) {
  state_ = &state;
  address_ = address;
  sources_ = 0;
  period_ = 0;
  // The register becomes unknown and cannot be read before it is written.
  if (pops_unknown(in, state, *memory_) && registers_[kRsp].step == 0) return write_register(in.destination.index, 8, 0);
  const bool is_floating = in.op >= Op::kFloatFromInteger;
  if (horizon_ == 0) {
    if (is_floating) return fail(Reason::kGrowingResult);
    const bool has_rule = follow_rule(in);
    if (std::popcount(sources_) > 1 && std::ranges::find(combined_, sources_) == combined_.end()) combined_.push_back(sources_);
    return has_rule;
  }
  const Uses what = is_floating ? Uses::kBounds : uses(in);
  if (what == Uses::kConstant) return follow_rule(in);
  if (what == Uses::kRule) {
    // The rule is used if it holds in all turns considered.
    const Rules before{registers_, constant_low_, halves_,        cells_,    assumed_, constant_.size(),
                       bounded_,   turns_,        growing_flags_, flags_set_};
    const bool has_rule = follow_rule(in);
    if (has_rule && (turns_ >= horizon_ || turns_ == before.turns)) return true;
    if (has_rule) turns_by_rule_ = std::min(turns_by_rule_, turns_);
    registers_ = before.registers;
    constant_low_ = before.constant_low;
    halves_ = before.halves;
    cells_ = before.cells;
    assumed_ = before.assumed;
    constant_.resize(before.constants);
    bounded_ = before.bounded;
    turns_ = before.turns;
    growing_flags_ = before.growing_flags;
    flags_set_ = before.flags_set;
    reason_ = Reason::kNone;
  }
  return follow_bounds(in);
}

bool Growth::follow_rule(const Instruction& in) {
  if (in.op == Op::kLea) return follow_address(in);
  if (is_memory(in.destination) || is_memory(in.source) || is_memory(in.source2)) {
    for (const unsigned index : {in.base, in.index}) {
      if (index != Instruction::kNoRegister && registers_[index].step != 0) return fail(Reason::kGrowingAddress);
    }
  }
  switch (in.op) {
    case Op::kRefused:
    case Op::kNop:
      return true;
    case Op::kMov:
    case Op::kMovsx:
    case Op::kSetcc:
    case Op::kCmovcc:
      return follow_move(in);
    case Op::kAdd:
    case Op::kAdc:
    case Op::kSub:
    case Op::kSbb:
    case Op::kCmp:
      return follow_sum(in);
    case Op::kTest:
    case Op::kAnd:
    case Op::kAndn:
    case Op::kOr:
    case Op::kXor:
      return follow_logic(in);
    case Op::kNot:
    case Op::kNeg:
    case Op::kInc:
    case Op::kDec:
      return follow_one_operand(in);
    case Op::kShl:
    case Op::kShr:
    case Op::kSar:
    case Op::kRol:
    case Op::kRor:
    case Op::kShlx:
    case Op::kShrx:
    case Op::kSarx:
    case Op::kRorx:
      return follow_shift(in);
    case Op::kMul:
    case Op::kImulWide:
    case Op::kImul:
    case Op::kMulx:
      return follow_multiplication(in);
    case Op::kDiv:
    case Op::kIdiv:
      return follow_division(in);
    case Op::kBt:
    case Op::kBts:
    case Op::kBtr:
    case Op::kBtc:
    case Op::kBsf:
    case Op::kBsr:
    case Op::kTzcnt:
    case Op::kLzcnt:
    case Op::kPopcnt:
    case Op::kBswap:
    case Op::kBlsi:
    case Op::kBlsr:
    case Op::kBlsmsk:
    case Op::kBzhi:
    case Op::kBextr:
    case Op::kPdep:
    case Op::kPext:
      return follow_bits(in);
    case Op::kExtendAccumulator:
    case Op::kSpreadSign:
      return follow_accumulator(in);
    case Op::kClc:
    case Op::kStc:
      set_flags(FlagsOf::kSum, {}, {}, 8, kCf);
      return true;
    case Op::kCmc:
      if (!settle(in, kBelow)) return false;
      set_flags(FlagsOf::kSum, {}, {}, 8, kCf);
      return true;
    case Op::kJcc:
      return settle(in, static_cast<unsigned>(in.condition));
    case Op::kJmp:
    case Op::kCall:
    case Op::kRet:
    case Op::kPush:
    case Op::kPop:
    case Op::kLeave:
      return follow_stack(in);
    case Op::kXchg:
    case Op::kCmpxchg:
    case Op::kXadd:
      return follow_exchange(in);
    case Op::kStoreString:
    case Op::kMoveString:
      return follow_string(in);
    default:
      return follow_vector(in);
  }
}

bool Growth::follow_move(const Instruction& in) {
  Value value;
  const unsigned condition = static_cast<unsigned>(in.condition);
  switch (in.op) {
    case Op::kMov:
    case Op::kMovsx: {
      if (!read(in, in.source, in.source_size, value)) return false;
      if (value.step != 0 && in.size > in.source_size) {
        in.op == Op::kMov ? keep_unsigned(value, in.source_size) : keep_signed(value, in.source_size);
        value.step = sign_extend(value.step, in.source_size);
      }
      return write(in.destination, in.size, value.step);
    }
    case Op::kSetcc:
      return settle(in, condition) && write(in.destination, 1, 0);
    default: {  // a source in memory is read even if the condition is false
      Value source;
      if (!settle(in, condition) || !read(in, in.source, in.size, source)) return false;
      if (condition_holds(condition, state_->registers.flags)) return write(in.destination, in.size, source.step);
      return read(in, in.destination, in.size, value) && write(in.destination, in.size, value.step);
    }
  }
}

bool Growth::follow_address(const Instruction& in) {
  Value base, index;
  const unsigned size = in.address32 ? 4 : in.size;
  if (in.base != Instruction::kNoRegister && !read_register(in.base, size, base)) return false;
  if (in.index != Instruction::kNoRegister && !read_register(in.index, size, index)) return false;
  const std::uint64_t step = (base.step + index.step * in.scale) & size_mask(size);
  if (step != 0 && size < in.size) return fail(Reason::kGrowingResult);
  return write(in.destination, in.size, step);
}

bool Growth::follow_sum(const Instruction& in) {
  const bool is_sum = in.op == Op::kAdd || in.op == Op::kAdc;
  const bool carries = in.op == Op::kAdc || in.op == Op::kSbb;
  if (carries && !settle(in, kBelow)) return false;
  Value a, b;
  const bool is_constant = !is_sum && in.op != Op::kCmp && same_register(in);
  if (!is_constant && (!read(in, in.destination, in.size, a) || !read(in, in.source, in.size, b))) return false;
  if (in.op != Op::kCmp && !write(in.destination, in.size, is_sum ? a.step + b.step : a.step - b.step)) return false;
  const bool grows = a.step != 0 || b.step != 0;
  const FlagsOf flags = carries && grows ? FlagsOf::kNothing : is_sum ? FlagsOf::kSum : FlagsOf::kDifference;
  set_flags(flags, a, b, in.size, kArithmeticFlags);
  return true;
}

// A growing value under a constant mask. The result is constant if the step changes only bits above the mask.
// Under a mask of low bits it is the value itself until that exceeds the mask. Under any other mask it is
// constant until the bits below the mask carry into it.
bool Growth::masked(const Value& a, std::uint64_t mask, Value& result) {
  result = {a.now & mask, 0};
  if (mask == 0 || a.step << std::countl_zero(mask) == 0) return true;
  const auto step = static_cast<std::int64_t>(a.step);
  if ((mask & (mask + 1)) == 0) {
    keep_within(result.now, step, 0, mask);
    result.step = a.step;
    return true;
  }
  const std::uint64_t hidden = (mask & -mask) - 1;
  if (hidden == 0) return fail(Reason::kGrowingResult);
  keep_within(a.now & hidden, step, 0, hidden);
  return true;
}

bool Growth::follow_logic(const Instruction& in) {
  const unsigned size = in.size;
  Value a, b, result;
  if ((in.op == Op::kXor && same_register(in)) || (in.op == Op::kOr && in.needs == 0 && !is_memory(in.destination))) {
    // The result is zero or all ones for any register value.
  } else if (in.op == Op::kAndn) {
    if (!read(in, in.source, size, a) || !read(in, in.source2, size, b)) return false;
    if (a.step != 0 || b.step != 0) return fail(Reason::kGrowingResult);
  } else {
    if (!read(in, in.destination, size, a) || !read(in, in.source, size, b)) return false;
    const bool is_and = in.op == Op::kAnd || in.op == Op::kTest;
    if (same_register(in)) {
      result = a;
    } else if (a.step != 0 || b.step != 0) {
      if (a.step != 0 && b.step != 0) return fail(Reason::kGrowingResult);
      Value grows = a.step != 0 ? a : b;
      const std::uint64_t mask = a.step != 0 ? b.now : a.now;
      if (!is_and) {
        // OR with bits that the value cannot have is an addition, for example of the halves of a counter.
        if (in.op != Op::kOr) return fail(Reason::kGrowingResult);
        const std::uint64_t below = mask == 0 ? size_mask(size) : (mask & (0 - mask)) - 1;
        keep_within(grows.now, as_signed(grows.step, size), 0, below);
        result = {grows.now + mask, grows.step};
      } else if (mask == size_mask(size)) {
        result = grows;
      } else {
        grows.step = sign_extend(grows.step, size);
        if (in.op == Op::kTest) period_ = period_of_bits(grows.step, mask);
        if (!masked(grows, mask, result)) return false;
      }
    }
  }
  result.step &= size_mask(size);
  // Flags as after a comparison of the result with zero: CF and OF are 0.
  set_flags(FlagsOf::kDifference, result, {}, size, kArithmeticFlags);
  return in.op == Op::kTest || write(in.destination, size, result.step);
}

bool Growth::follow_one_operand(const Instruction& in) {
  Value a;
  const Value one{1, 0};
  if (!read(in, in.destination, in.size, a)) return false;
  switch (in.op) {
    case Op::kNot:
      return write(in.destination, in.size, 0 - a.step);
    case Op::kNeg:
      set_flags(FlagsOf::kDifference, {}, a, in.size, kArithmeticFlags);
      return write(in.destination, in.size, 0 - a.step);
    default:
      set_flags(in.op == Op::kInc ? FlagsOf::kSum : FlagsOf::kDifference, a, one, in.size, kArithmeticFlags & ~kCf);
      return write(in.destination, in.size, a.step);
  }
}

bool Growth::shifted(Op op, const Value& a, unsigned count, unsigned size, Value& result) {
  const unsigned bits = 8 * size;
  result = {};
  if (a.step == 0) return true;
  if (count >= bits) return fail(Reason::kGrowingResult);
  if (op == Op::kRol || op == Op::kRor || op == Op::kRorx) {
    // Rotation moves constant low bits to the top; the others grow below them.
    const unsigned down = op == Op::kRol ? bits - count : count;
    if ((a.step & ((1ull << down) - 1)) != 0) return fail(Reason::kGrowingResult);
    keep_unsigned(a, size);
    const auto whole = static_cast<std::int64_t>(sign_extend(a.step, size)) >> down;
    result.step = static_cast<std::uint64_t>(whole) & size_mask(size);
    return true;
  }
  if (op == Op::kShl || op == Op::kShlx) {
    result.step = a.step << count & size_mask(size);
    return true;
  }
  const bool is_arithmetic = op == Op::kSar || op == Op::kSarx;
  const __int128 now = is_arithmetic ? as_signed(a.now, size) : static_cast<__int128>(a.now), step = as_signed(a.step, size);
  is_arithmetic ? keep_signed(a, size) : keep_unsigned(a, size);
  // The step is rounded to the nearest integer. It is exact while the bits that the shift removes do not carry.
  const __int128 below = static_cast<__int128>(1) << count, low = step & (below - 1);
  const __int128 whole = (step >> count) + (low > (below - 1) / 2 ? 1 : 0);
  result.step = static_cast<std::uint64_t>(whole) & size_mask(size);
  keep_within(now & (below - 1), step - whole * below, 0, below - 1);
  return true;
}

bool Growth::follow_shift(const Instruction& in) {
  const bool has_flags = !is_flagless_shift(in.op);
  Value a, by, result;
  if (!read(in, has_flags ? in.destination : in.source, in.size, a)) return false;
  if (!read(in, has_flags ? in.source : in.source2, has_flags ? 1 : in.size, by)) return false;
  if (by.step != 0) return fail(Reason::kGrowingResult);
  const unsigned count = static_cast<unsigned>(by.now) & (in.size == 8 ? 63 : 31);
  if (count == 0) return write(in.destination, in.size, a.step);  // no flag changes
  if (!shifted(in.op, a, count, in.size, result)) return false;
  if (has_flags) {
    const bool rotates = in.op == Op::kRol || in.op == Op::kRor;
    set_flags(a.step != 0 ? FlagsOf::kNothing : FlagsOf::kSum, a, {}, in.size, rotates ? kCf | kOf : kArithmeticFlags);
  }
  return write(in.destination, in.size, result.step);
}

bool Growth::follow_multiplication(const Instruction& in) {
  Value a, b;
  const unsigned size = in.size;
  const bool is_wide = in.op != Op::kImul, names_both = in.op == Op::kMulx;
  unsigned to_low = kRax, to_high = kRdx;
  if (names_both) to_low = in.source.index, to_high = in.destination.index;
  if (names_both ? !read(in, in.source2, size, a) || !read_register(kRdx, size, b)
      : is_wide  ? !read(in, in.destination, size, a) || !read_register(kRax, size, b)
              : !read(in, in.source, size, a) || !read(in, in.source2, size, b)) {
    return false;
  }
  const bool grows = a.step != 0 || b.step != 0;
  if (!names_both) set_flags(a.step != 0 ? FlagsOf::kNothing : FlagsOf::kSum, a, b, size, kArithmeticFlags);
  if (!grows) {
    if (!is_wide) return write(in.destination, size, 0);
    return size == 1 ? write_register(kRax, 2, 0) : write_register(to_low, size, 0) && write_register(to_high, size, 0);
  }
  if (a.step != 0 && b.step != 0) return fail(Reason::kGrowingResult);
  const Value& value = a.step != 0 ? a : b;
  const std::uint64_t factor = a.step != 0 ? b.now : a.now;
  if (!is_wide) return write(in.destination, size, value.step * factor);
  // The step of the upper half is rounded to the nearest integer. It is exact while the lower half does not overflow.
  constexpr std::int64_t kLargestStep = 1ll << 40;
  const auto step = static_cast<std::int64_t>(sign_extend(value.step, size));
  if (size < 4 || step > kLargestStep || step < -kLargestStep) return fail(Reason::kGrowingResult);
  const bool is_signed = in.op == Op::kImulWide;
  is_signed ? keep_signed(value, size) : keep_unsigned(value, size);
  const __int128 by = is_signed ? static_cast<__int128>(static_cast<std::int64_t>(sign_extend(factor, size))) : factor;
  const __int128 half = static_cast<__int128>(1) << 8 * size, low = (by * step) & (half - 1);
  const __int128 whole = (by * step >> 8 * size) + (low > half / 2 ? 1 : 0);
  keep_within((value.now * factor) & size_mask(size), by * step - whole * half, 0, size_mask(size));
  return write_register(to_low, size, value.step * factor) && write_register(to_high, size, static_cast<std::uint64_t>(whole));
}

// If the step is a multiple of the divisor, the quotient grows and the remainder is constant. Otherwise the
// remainder grows and the quotient is constant, until the remainder would leave the range from 0 to divisor -
// 1.
bool Growth::follow_division(const Instruction& in) {
  Value divisor, low, high;
  const unsigned size = in.size;
  if (!read(in, in.destination, size, divisor) || !read_register(kRax, size == 1 ? 2 : size, low)) return false;
  if (size > 1 && !read_register(kRdx, size, high)) return false;
  if (divisor.step != 0 || high.step != 0) return fail(Reason::kGrowingResult);
  set_flags(FlagsOf::kSum, {}, {}, size, kArithmeticFlags);
  if (low.step == 0) {
    return size == 1 ? write_register(kRax, 2, 0) : write_register(kRax, size, 0) && write_register(kRdx, size, 0);
  }
  const bool is_signed = in.op == Op::kIdiv;
  const bool is_negative = is_signed && ((low.now | divisor.now) & sign_bit(size)) != 0;
  if (size < 4 || high.now != 0 || is_negative || divisor.now == 0) return fail(Reason::kGrowingResult);
  is_signed ? keep_signed(low, size) : keep_unsigned(low, size);
  const auto step = static_cast<std::int64_t>(sign_extend(low.step, size));
  const __int128 quotients = static_cast<__int128>(step) / divisor.now;
  if (quotients * divisor.now == step) {  // the remainder is constant
    if (is_signed) settle_sign(static_cast<std::int64_t>(sign_extend(low.now, size)), step, false);
    return write_register(kRax, size, static_cast<std::uint64_t>(quotients)) && write_register(kRdx, size, 0);
  }
  keep_within(low.now % divisor.now, step, 0, divisor.now - 1);
  return write_register(kRax, size, 0) && write_register(kRdx, size, low.step);
}

bool Growth::follow_bits(const Instruction& in) {
  const unsigned size = in.size;
  Value a, b, bit;
  switch (in.op) {
    case Op::kBt:
    case Op::kBts:
    case Op::kBtr:
    case Op::kBtc:
      if (!read(in, in.destination, size, a) || !read(in, in.source, size, b)) return false;
      if (b.step != 0 || (a.step != 0 && in.op != Op::kBt)) return fail(Reason::kGrowingResult);
      if (a.step != 0) {
        if (!masked({a.now, sign_extend(a.step, size)}, 1ull << b.now % (8 * size), bit)) return false;
        if (bit.step != 0) settle_zero(0, bit.step, size);  // bit 0 differs in the next turn
      }
      set_flags(FlagsOf::kSum, {}, {}, size, kArithmeticFlags & ~kZf);
      return in.op == Op::kBt || write(in.destination, size, 0);
    case Op::kBswap:
      if (!read(in, in.destination, size, a)) return false;
      break;
    default:
      if (!read(in, in.source, size, a)) return false;
      if (in.source2.kind != Operand::Kind::kNone && !read(in, in.source2, size, b)) return false;
      if (b.step != 0) return fail(Reason::kGrowingResult);
      if (in.op == Op::kPdep || in.op == Op::kPext) break;  // no flag changes
      set_flags(FlagsOf::kSum, {}, {}, size, kArithmeticFlags);
      break;
  }
  return a.step == 0 ? write(in.destination, size, 0) : fail(Reason::kGrowingResult);
}

bool Growth::follow_accumulator(const Instruction& in) {
  const unsigned from = in.op == Op::kExtendAccumulator ? in.size / 2 : in.size;
  Value a;
  if (!read_register(kRax, from, a)) return false;
  if (a.step != 0) {
    keep_signed(a, from);
    if (in.op == Op::kSpreadSign) {
      const auto now = static_cast<std::int64_t>(sign_extend(a.now, from));
      settle_sign(now, static_cast<std::int64_t>(sign_extend(a.step, from)), false);
    }
  }
  if (in.op == Op::kSpreadSign) return write_register(kRdx, in.size, 0);
  return write_register(kRax, in.size, sign_extend(a.step, from));
}

bool Growth::follow_stack(const Instruction& in) {
  Value value;
  const std::uint64_t stack = state_->registers.gpr[kRsp];
  if (in.op != Op::kJmp && registers_[kRsp].step != 0) return fail(Reason::kGrowingAddress);
  switch (in.op) {
    case Op::kJmp:
    case Op::kCall:
      if (!read(in, in.source, 8, value)) return false;
      if (value.step != 0) return fail(Reason::kGrowingAddress);
      return in.op == Op::kJmp || store(stack - 8, 8, 0);
    case Op::kRet:
      return load(stack, 8, value) && (value.step == 0 || fail(Reason::kGrowingAddress));
    case Op::kPush:
      return read(in, in.source, 8, value) && store(stack - 8, 8, value.step);
    case Op::kPop:
      return load(stack, 8, value) && write_register(in.destination.index, 8, value.step);
    default:  // LEAVE
      if (registers_[kRbp].step != 0) return fail(Reason::kGrowingAddress);
      return load(state_->registers.gpr[kRbp], 8, value) && write_register(kRbp, 8, value.step);
  }
}

bool Growth::follow_exchange(const Instruction& in) {
  Value a, b;
  const unsigned size = in.size;
  if (!read(in, in.destination, size, a) || !read(in, in.source, size, b)) return false;
  switch (in.op) {
    case Op::kXchg:
      return write(in.destination, size, b.step) && write(in.source, size, a.step);
    case Op::kXadd:
      set_flags(FlagsOf::kSum, a, b, size, kArithmeticFlags);
      return write(in.source, size, a.step) && write(in.destination, size, a.step + b.step);
    default: {  // CMPXCHG
      Value expected;
      if (!read_register(kRax, size, expected)) return false;
      settle_zero(expected.now - a.now, expected.step - a.step, size);
      set_flags(FlagsOf::kDifference, expected, a, size, kArithmeticFlags);
      if (expected.now == a.now) return write(in.destination, size, b.step);
      return write(in.destination, size, a.step) && write_register(kRax, size, a.step);
    }
  }
}

bool Growth::follow_string(const Instruction& in) {
  const auto& gpr = state_->registers.gpr;
  for (const unsigned index : {kRax, kRcx, kRsi, kRdi}) {
    const bool is_used = (in.needs & known_bits(index, 8)) != 0;
    if (is_used && registers_[index].step != 0) return fail(Reason::kGrowingAddress);
  }
  constexpr std::uint64_t kMost = 1 << 20;  // the interpreter stops earlier
  const std::uint64_t length = std::min<std::uint64_t>(in.repeated ? gpr[kRcx] : 1, kMost) * in.size;
  if (in.op == Op::kMoveString && !is_constant(gpr[kRsi], length)) return fail(Reason::kGrowingPart);
  return is_constant(gpr[kRdi], length) || fail(Reason::kGrowingPart);
}

}  // namespace verbatim::spin

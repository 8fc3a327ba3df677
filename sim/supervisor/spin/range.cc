#include "sim/supervisor/spin/range.h"

#include <algorithm>
#include <initializer_list>

#include "sim/supervisor/spin/alu.h"

namespace verbatim::spin {
namespace {

using Wide = __int128;

Wide modulus(unsigned size) { return static_cast<Wide>(1) << (8 * size); }
// Shifts the range by a multiple of the modulus into [from, from + modulus). All numbers, if it does not fit.
Range moved(const Range& range, Wide from, unsigned size) {
  const Wide whole = modulus(size), by = floor_divide(range.least - from, whole) * whole;
  if (range.most - range.least < whole && range.most - by < from + whole) return {range.least - by, range.most - by};
  return {from, from + whole - 1};
}

Range of_corners(std::initializer_list<Wide> corners) { return {std::min(corners), std::max(corners)}; }

Range product(const Range& a, const Range& b) {
  return of_corners({a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most});
}

// AND. Under a mask of low bits, a number without other bits is unchanged.
Range masked(const Range& value, const Range& mask, unsigned size) {
  const Range a = as_unsigned(value, size), m = as_unsigned(mask, size);
  if (a.is_single() && m.is_single()) return {a.least & m.least, a.least & m.least};
  for (const auto& [shown, by] : {std::pair{a, m}, std::pair{m, a}}) {
    if (by.is_single() && (by.least & (by.least + 1)) == 0 && shown.most <= by.least) return shown;
  }
  return {0, std::min(a.most, m.most)};
}

// OR and XOR. With bits that the other operand cannot have, the result is the sum.
Range joined(Op op, const Range& value, const Range& other, unsigned size) {
  const Range a = as_unsigned(value, size), b = as_unsigned(other, size);
  if (a.is_single() && b.is_single()) {
    const Wide result = op == Op::kOr ? a.least | b.least : a.least ^ b.least;
    return {result, result};
  }
  for (const auto& [changing, fixed] : {std::pair{a, b}, std::pair{b, a}}) {
    if (!fixed.is_single()) continue;
    const Wide above = fixed.least == 0 ? modulus(size) : fixed.least & -fixed.least;
    if (changing.most < above) return {changing.least + fixed.least, changing.most + fixed.least};
  }
  // Bits above the highest bit of the smaller operand are those of the other operand.
  const Range &far = a.most > b.most ? a : b, &near = a.most > b.most ? b : a;
  Wide below = 1;
  while (below <= near.most) below *= 2;
  const Wide least = op == Op::kOr ? std::max(a.least, b.least) : far.least & -below;
  return {least, far.most | (below - 1)};
}

}  // namespace

Range as_unsigned(const Range& range, unsigned size) { return moved(range, 0, size); }
Range as_signed(const Range& range, unsigned size) { return moved(range, -modulus(size) / 2, size); }

Range narrowest(const Range& range, unsigned size) {
  const Range without = as_unsigned(range, size), with = as_signed(range, size);
  return without.most - without.least <= with.most - with.least ? without : with;
}

std::optional<Range> combine(Op op, const Range& a, const Range& b, unsigned size) {
  const auto shift = [&](const Range& of) {
    const auto count = static_cast<unsigned>(b.least) & (size == 8 ? 63 : 31);
    return Range{of.least >> count, of.most >> count};
  };
  switch (op) {
    case Op::kAdd:
      return narrowest({a.least + b.least, a.most + b.most}, size);
    case Op::kSub:
    case Op::kCmp:
      return narrowest({a.least - b.most, a.most - b.least}, size);
    case Op::kImul:
      return narrowest(product(as_signed(a, size), as_signed(b, size)), size);
    case Op::kAnd:
    case Op::kTest:
      return masked(a, b, size);
    case Op::kOr:
    case Op::kXor:
      return joined(op, a, b, size);
    case Op::kShl:
    case Op::kShlx: {
      const auto count = static_cast<unsigned>(b.least) & (size == 8 ? 63 : 31);
      if (!b.is_single()) return std::nullopt;
      return as_unsigned(product(as_signed(a, size), {static_cast<Wide>(1) << count, static_cast<Wide>(1) << count}), size);
    }
    case Op::kShr:
    case Op::kShrx:
      if (!b.is_single()) return std::nullopt;
      return shift(as_unsigned(a, size));
    case Op::kSar:
    case Op::kSarx:
      if (!b.is_single()) return std::nullopt;
      return as_unsigned(shift(as_signed(a, size)), size);
    default:
      return std::nullopt;
  }
}

TwoRanges multiply_wide(const Range& a, const Range& b, unsigned size, bool is_signed) {
  const Wide mask = modulus(size) - 1;
  if (is_signed) {
    const Range whole = product(as_signed(a, size), as_signed(b, size));
    return {narrowest(whole, size), narrowest({whole.least >> (8 * size), whole.most >> (8 * size)}, size)};
  }
  // Unsigned products have up to 128 bits.
  using Unsigned = unsigned __int128;
  const Range x = as_unsigned(a, size), y = as_unsigned(b, size);
  const Unsigned least = static_cast<Unsigned>(x.least) * static_cast<Unsigned>(y.least);
  const Unsigned most = static_cast<Unsigned>(x.most) * static_cast<Unsigned>(y.most);
  const Range high{static_cast<Wide>(least >> (8 * size)), static_cast<Wide>(most >> (8 * size))};
  if (!high.is_single()) return {{0, mask}, high};
  return {{static_cast<Wide>(least & static_cast<Unsigned>(mask)), static_cast<Wide>(most & static_cast<Unsigned>(mask))}, high};
}

std::optional<TwoRanges> divide(const Range& dividend, const Range& divisor, unsigned size, bool is_signed) {
  const Range a = is_signed ? as_signed(dividend, size) : as_unsigned(dividend, size);
  const Range d = is_signed ? as_signed(divisor, size) : as_unsigned(divisor, size);
  if (!d.is_single() || d.least == 0 || d.least == -1) return std::nullopt;
  const Range quotient = of_corners({a.least / d.least, a.most / d.least});
  const Wide most = (d.least < 0 ? -d.least : d.least) - 1;
  Range rest{a.least < 0 ? -most : 0, a.most > 0 ? most : 0};
  if (quotient.is_single()) rest = {a.least - quotient.least * d.least, a.most - quotient.least * d.least};
  return TwoRanges{narrowest(quotient, size), narrowest(rest, size)};
}

std::optional<bool> compare(unsigned condition, const Range& a, const Range& b, unsigned size) {
  const bool negated = (condition & 1) != 0;
  const auto less = [&](const Range& x, const Range& y, bool or_equal) -> std::optional<bool> {
    if (or_equal ? x.most <= y.least : x.most < y.least) return !negated;
    if (or_equal ? x.least > y.most : x.least >= y.most) return negated;
    return std::nullopt;
  };
  switch (condition >> 1) {
    case 1:
    case 3:
      return less(as_unsigned(a, size), as_unsigned(b, size), condition >> 1 == 3);
    case 6:
    case 7:
      return less(as_signed(a, size), as_signed(b, size), condition >> 1 == 7);
    case 2: {
      const Range difference = as_unsigned({a.least - b.most, a.most - b.least}, size);
      if (difference.least > 0) return negated;
      if (difference == Range{}) return !negated;
      return std::nullopt;
    }
    case 4:
      return less(as_signed({a.least - b.most, a.most - b.least}, size), {}, false);
    default:
      return std::nullopt;
  }
}

}  // namespace verbatim::spin

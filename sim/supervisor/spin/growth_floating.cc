// Bounds of floating-point numbers. Each result is widened by one unit in the last place in both directions,
// which covers every rounding mode, and a result near the smallest exponent may be zero.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/growth.h"

namespace verbatim::spin {
namespace {

struct Interval {
  double least, most;
};

Interval outwards(Interval of, unsigned size) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double tiny = size == 4 ? 0x1p-126 : 0x1p-1022;
  if (size == 4) {
    constexpr float kFar = std::numeric_limits<float>::infinity();
    of = {std::nextafter(static_cast<float>(of.least), -kFar), std::nextafter(static_cast<float>(of.most), kFar)};
  } else {
    of = {std::nextafter(of.least, -kInfinity), std::nextafter(of.most, kInfinity)};
  }
  if (of.least > 0 && of.least < 2 * tiny) of.least = 0;
  if (of.most < 0 && of.most > -2 * tiny) of.most = 0;
  return of;
}

bool is_finite(const Interval& of) { return std::isfinite(of.least) && std::isfinite(of.most); }

Interval of_corners(double a, double b, double c, double d) {
  return {std::min(std::min(a, b), std::min(c, d)), std::max(std::max(a, b), std::max(c, d))};
}

}  // namespace

bool Growth::floating_bounds(const Instruction&, const Operand& operand, unsigned size, Bounds& bounds) {
  std::uint64_t bits = 0;
  if (is_vector(operand)) {
    if (const auto& known = vector_bounds_[operand.index]) {
      bounds = *known;
      return (bounds.is_floating && bounds.size == size) || fail(Reason::kGrowingPart);
    }
    bits = state_->vectors.lane[operand.index][0];
  } else {
    for (const BoundedCell& cell : bounded_) {
      if (cell.address != address_ || !cell.bounds.is_floating || cell.bounds.size != size) continue;
      bounds = cell.bounds;
      return true;
    }
    if (!is_constant(address_, size)) return fail(Reason::kGrowingPart);
    if (!memory_->load(address_, size, bits)) return fail(memory_->fault());
  }
  double value = 0;
  if (size == 4) {
    float narrow;
    std::memcpy(&narrow, &bits, 4);
    value = narrow;
  } else {
    std::memcpy(&value, &bits, 8);
  }
  bounds = {.size = size, .is_floating = true, .least = value, .most = value};
  return std::isfinite(value) || fail(Reason::kGrowingResult);
}

bool Growth::floating_comparison(const Instruction& in) {
  Bounds a, b;
  if (!floating_bounds(in, in.destination, in.size, a) || !floating_bounds(in, in.source, in.size, b)) return false;
  const bool is_equal = a.least == a.most && b.least == b.most && a.least == b.least;
  if (!is_equal && !(a.most < b.least) && !(a.least > b.most)) return fail(Reason::kUnsettled);
  set_flags(FlagsOf::kSum, {}, {}, 8, kArithmeticFlags);
  return true;
}

bool Growth::fused_operation(const Instruction& in) {
  Bounds first, second, third;
  if (!floating_bounds(in, in.destination, in.size, first) || !floating_bounds(in, in.source, in.size, second) ||
      !floating_bounds(in, in.source2, in.size, third)) {
    return false;
  }
  const Bounds& a = in.op == Op::kFloatFused231 ? second : first;
  const Bounds& b = in.op == Op::kFloatFused213 ? second : third;
  const Bounds& c = in.op == Op::kFloatFused132 ? second : in.op == Op::kFloatFused213 ? third : first;
  Interval product = of_corners(a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most);
  // The products are themselves rounded to double.
  product = outwards(product, 8);
  if ((in.immediate & kNegatesProduct) != 0) product = {-product.most, -product.least};
  const Interval addend = (in.immediate & kSubtractsAddend) != 0 ? Interval{-c.most, -c.least} : Interval{c.least, c.most};
  Interval result{product.least + addend.least, product.most + addend.most};
  result = outwards(outwards(result, in.size), in.size);
  if (!is_finite(result)) return fail(Reason::kGrowingResult);
  vector_bounds_[in.destination.index] =
      Bounds{.size = in.size, .is_floating = true, .least = result.least, .most = result.most};
  return true;
}

bool Growth::floating_operation(const Instruction& in) {
  if (in.op >= Op::kFloatFused132) return fused_operation(in);
  Bounds a, b;
  if (in.op == Op::kFloatFromInteger) {
    Range integer;
    if (!read_range(in, in.source2, in.source_size, integer)) return false;
    integer = as_signed(integer, in.source_size);
    Interval result{static_cast<double>(integer.least), static_cast<double>(integer.most)};
    const double exact = in.size == 4 ? 0x1p24 : 0x1p53;
    if (std::fabs(result.least) > exact || std::fabs(result.most) > exact) result = outwards(result, in.size);
    vector_bounds_[in.destination.index] =
        Bounds{.size = in.size, .is_floating = true, .least = result.least, .most = result.most};
    return true;
  }
  if (!floating_bounds(in, in.source2, in.source_size, b)) return false;
  if (in.op == Op::kFloatTruncate) {
    const double most = in.size == 4 ? 0x1p31 : 0x1p63;
    if (!(std::fabs(b.least) < most) || !(std::fabs(b.most) < most)) return fail(Reason::kGrowingResult);
    return write_range(in.destination, in.size, {static_cast<std::int64_t>(b.least), static_cast<std::int64_t>(b.most)});
  }
  Interval result{b.least, b.most};
  if (in.op != Op::kFloatConvert) {
    if (!floating_bounds(in, in.source, in.source_size, a)) return false;
    switch (in.op) {
      case Op::kFloatAdd:
        result = {a.least + b.least, a.most + b.most};
        break;
      case Op::kFloatSub:
        result = {a.least - b.most, a.most - b.least};
        break;
      case Op::kFloatMul:
        result = of_corners(a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most);
        break;
      default:
        if (b.least <= 0 && b.most >= 0) return fail(Reason::kGrowingResult);
        result = of_corners(a.least / b.least, a.least / b.most, a.most / b.least, a.most / b.most);
        break;
    }
  }
  // Conversion of float to double is exact. In other operations the corner values are themselves rounded to
  // double.
  if (in.op != Op::kFloatConvert || in.size == 4) result = outwards(outwards(result, in.size), in.size);
  if (!is_finite(result)) return fail(Reason::kGrowingResult);
  vector_bounds_[in.destination.index] =
      Bounds{.size = in.size, .is_floating = true, .least = result.least, .most = result.most};
  return true;
}

// Absolute value and negation. Other bitwise operations on numbers with bounds are refused.
bool Growth::floating_sign(const Instruction& in) {
  const auto bounds_of = [&](const Operand& operand) {
    return is_vector(operand) ? vector_bounds_[operand.index] : std::nullopt;
  };
  const auto first = bounds_of(in.source), second = bounds_of(in.source2);
  if (first.has_value() == second.has_value()) return fail(Reason::kGrowingResult);
  const Bounds number = first ? *first : *second;
  const Operand& other = first ? in.source2 : in.source;
  if (!number.is_floating || (number.size != 8 && number.size != 4) || is_memory(first ? in.source : in.source2))
    return fail(Reason::kGrowingResult);
  std::uint64_t bits = 0;
  if (is_vector(other)) {
    bits = state_->vectors.lane[other.index][0];
  } else {
    if (!is_constant(address_, in.size)) return fail(Reason::kGrowingPart);
    if (!memory_->load(address_, 8, bits)) return fail(memory_->fault());
  }
  const std::uint64_t sign = 1ull << (8 * number.size - 1), mask = size_mask(number.size);
  const bool clears = in.op == Op::kVectorAnd ? (bits & mask) == sign - 1
                                              : in.op == Op::kVectorAndNot && second && (bits & mask) == sign;
  Bounds result = number;
  if (clears) {
    const double least = std::fabs(number.least), most = std::fabs(number.most);
    result.least = number.least <= 0 && number.most >= 0 ? 0 : std::min(least, most);
    result.most = std::max(least, most);
  } else if (in.op == Op::kVectorXor && (bits & mask) == sign) {
    result.least = -number.most;
    result.most = -number.least;
  } else {
    return fail(Reason::kGrowingResult);
  }
  vector_bounds_[in.destination.index] = result;
  return true;
}

bool Growth::bounded_floating(const Instruction& in) {
  if (in.op == Op::kFloatCompare) return floating_comparison(in);
  if (in.op >= Op::kFloatFromInteger) return floating_operation(in);
  const auto bounds_of = [&](const Operand& operand) {
    return is_vector(operand) ? vector_bounds_[operand.index] : std::nullopt;
  };
  std::optional<Bounds> moved;
  switch (in.op) {
    case Op::kVectorMove:
    case Op::kVectorLoadLow:
    case Op::kVectorStoreLow:
      if (is_vector(in.source)) {
        moved = bounds_of(in.source);
      } else if (in.op == Op::kVectorLoadLow) {
        Bounds loaded;
        if (!read_bounds(in, in.source, in.size, loaded)) return false;
        // A value that is the same in every turn needs no bounds.
        if (loaded.is_floating || !loaded.range.is_single()) moved = loaded;
      } else {
        if (!is_constant(address_, in.size)) return fail(Reason::kGrowingPart);
      }
      break;
    case Op::kVectorMergeLow:
      moved = bounds_of(in.source2);
      if (const auto under = bounds_of(in.source); under && under->size > in.size) return fail(Reason::kGrowingPart);
      break;
    case Op::kVectorXor:
    case Op::kVectorAnd:
    case Op::kVectorAndNot:
      if (in.needs_vectors != 0 && in.size == 16 && (bounds_of(in.source) || bounds_of(in.source2))) return floating_sign(in);
      [[fallthrough]];
    default: {
      const bool reads = in.needs_vectors != 0 && (bounds_of(in.source) || bounds_of(in.source2));
      const bool reads_destination = in.op == Op::kVectorTest && bounds_of(in.destination);
      if (reads || reads_destination) return fail(Reason::kGrowingResult);
      if (is_vector(in.destination)) vector_bounds_[in.destination.index].reset();
      return follow_vector(in);
    }
  }
  if (is_vector(in.destination)) {
    // Only a whole number can be moved.
    if (moved && moved->size > in.size) return fail(Reason::kGrowingPart);
    vector_bounds_[in.destination.index] = moved;
    return true;
  }
  if (!moved) return is_memory(in.destination) ? store(address_, in.size, 0) : write_register(in.destination.index, in.size, 0);
  if (in.size == moved->size) return write_bounds(in.destination, in.size, *moved);
  if (in.size < moved->size || !is_memory(in.destination)) return fail(Reason::kGrowingPart);
  if (!store(address_, in.size, 0)) return false;
  bounded_.push_back({address_, *moved});
  return true;
}

}  // namespace verbatim::spin

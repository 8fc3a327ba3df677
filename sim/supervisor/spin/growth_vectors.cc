// Bounds of both 64-bit halves of a vector register. Compilers keep seconds and their fraction in one.

#include "sim/supervisor/spin/growth.h"

namespace verbatim::spin {
namespace {

constexpr unsigned kHalf = 8;  // bytes

// Operations that copy bits 64-127 to the destination.
bool carries_high(Op op) {
  return op == Op::kVectorMergeLow || (op >= Op::kFloatFromInteger && op != Op::kFloatTruncate && op != Op::kFloatCompare);
}

}  // namespace

bool Growth::bounded_vector(const Instruction& in) {
  const auto has_high = [&](const Operand& operand) { return is_vector(operand) && high_bounds_[operand.index].has_value(); };
  if (carries_high(in.op)) {
    const std::optional<Bounds> high = high_bounds_[(in.op >= Op::kFloatFused132 ? in.destination : in.source).index];
    if (!bounded_floating(in)) return false;
    high_bounds_[in.destination.index] = high;
    return true;
  }
  const bool is_sum = (in.op == Op::kVectorAdd || in.op == Op::kVectorSub) && in.source_size == kHalf;
  const bool loads = in.op == Op::kVectorMove && is_memory(in.source) && in.size == 2 * kHalf;
  const bool takes_apart = in.op == Op::kVectorExtract || in.op == Op::kVectorHighToLow ||
                           in.op == Op::kVectorUnpackLow || in.op == Op::kVectorUnpackHigh;
  if (is_sum || loads || takes_apart || has_high(in.source) || has_high(in.source2)) return bounded_halves(in);
  if (has_high(in.destination)) {
    if (in.op == Op::kVectorMoveHigh || in.op == Op::kVectorTest) return fail(Reason::kGrowingPart);
    high_bounds_[in.destination.index].reset();
  }
  return bounded_floating(in);
}

bool Growth::half_bounds(const Operand& operand, unsigned half, Bounds& bounds) {
  if (is_memory(operand)) return load_bounds(address_ + half * kHalf, kHalf, bounds);
  const auto& known = (half == 0 ? vector_bounds_ : high_bounds_)[operand.index];
  const __int128 value = state_->vectors.lane[operand.index][half];
  bounds = known ? *known : Bounds{.range = {value, value}, .size = kHalf};
  return true;
}

void Growth::write_half(unsigned index, unsigned half, const Bounds& bounds) {
  auto& to = (half == 0 ? vector_bounds_ : high_bounds_)[index];
  to.reset();
  if (bounds.is_floating || !bounds.range.is_single()) to = bounds;
}

bool Growth::bounded_halves(const Instruction& in) {
  Bounds low, high, other;
  const auto whole = [&] { return in.size == 2 * kHalf || fail(Reason::kGrowingPart); };
  const auto write_both = [&] {
    write_half(in.destination.index, 0, low);
    write_half(in.destination.index, 1, high);
    return true;
  };
  switch (in.op) {
    case Op::kVectorMove:
      if (!whole() || !half_bounds(in.source, 0, low) || !half_bounds(in.source, 1, high)) return false;
      if (is_vector(in.destination)) return write_both();
      if (!store(address_, in.size, 0)) return false;
      for (const auto& [at, bounds] : {std::pair{address_, low}, std::pair{address_ + kHalf, high}}) {
        if (bounds.is_floating || !bounds.range.is_single()) bounded_.push_back({at, bounds});
      }
      return true;
    case Op::kVectorAdd:
    case Op::kVectorSub: {
      const Op op = in.op == Op::kVectorAdd ? Op::kAdd : Op::kSub;
      if (!whole() || in.source_size != kHalf) return fail(Reason::kGrowingResult);
      for (const unsigned half : {0u, 1u}) {
        Bounds& result = half == 0 ? low : high;
        if (!half_bounds(in.source, half, result) || !half_bounds(in.source2, half, other)) return false;
        if (result.is_floating || other.is_floating || result.size != kHalf || other.size != kHalf)
          return fail(Reason::kGrowingResult);
        result = {.range = *combine(op, result.range, other.range, kHalf), .size = kHalf};
      }
      return write_both();
    }
    case Op::kVectorExtract:
      if (!half_bounds(in.source, (in.immediate & 1) != 0 ? 1 : 0, low)) return false;
      if (in.size != kHalf || low.size != kHalf) return fail(Reason::kGrowingPart);
      return write_bounds(in.destination, kHalf, low);
    case Op::kVectorUnpackLow:
    case Op::kVectorUnpackHigh: {
      const unsigned half = in.op == Op::kVectorUnpackHigh ? 1 : 0;
      if (!whole() || in.source_size != kHalf) return fail(Reason::kGrowingPart);
      return half_bounds(in.source, half, low) && half_bounds(in.source2, half, high) && write_both();
    }
    case Op::kVectorHighToLow:
      return half_bounds(in.source2, 1, low) && half_bounds(in.source, 1, high) && write_both();
    case Op::kVectorShuffle32: {
      constexpr unsigned kLow = 0b0100, kHigh = 0b1110;
      for (const unsigned half : {0u, 1u}) {
        const unsigned words = in.immediate >> (4 * half) & 15;
        if (!whole() || (words != kLow && words != kHigh)) return fail(Reason::kGrowingPart);
        if (!half_bounds(in.source, words == kHigh ? 1 : 0, half == 0 ? low : high)) return false;
      }
      return write_both();
    }
    case Op::kVectorMoveHigh:
      if (!is_memory(in.destination) || !half_bounds(in.source, 1, high)) return fail(Reason::kGrowingPart);
      return write_bounds(in.destination, kHalf, high);
    case Op::kVectorLoadLow:
      if (is_vector(in.destination)) high_bounds_[in.destination.index].reset();
      return bounded_floating(in);
    case Op::kVectorStoreLow:
      return bounded_floating(in);
    default:
      if (in.needs_vectors != 0) return fail(Reason::kGrowingResult);
      return write_both();
  }
}

}  // namespace verbatim::spin

// Growth and bounds of both 64-bit halves of a vector register. Compilers keep two neighbouring counters, or seconds and
// their fraction, in one.

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/growth.h"

namespace verbatim::spin {
namespace {

constexpr unsigned kHalf = 8;  // bytes

// Operations that copy bits 64-127 to the destination.
bool carries_high(Op op) {
  return op == Op::kVectorMergeLow || (op >= Op::kFloatFromInteger && op != Op::kFloatTruncate && op != Op::kFloatCompare);
}

}  // namespace

// Whether the instruction reads a growing value.
bool Growth::reads_growth(const Instruction& in) {
  for (const Operand* operand : {&in.destination, &in.source, &in.source2}) {
    const bool is_read = operand != &in.destination || in.op == Op::kVectorTest;
    if (is_vector(*operand) && is_read && in.needs_vectors != 0 && grows(halves_[operand->index])) return true;
    if (operand->kind == Operand::Kind::kRegister && is_read && registers_[operand->index].step != 0) return true;
  }
  const unsigned length = in.op == Op::kVectorBroadcast ? in.source_size : in.size;
  return (is_memory(in.source) || is_memory(in.source2)) && uses_memory(address_, length) == Uses::kRule;
}

bool Growth::follow_vector(const Instruction& in) {
  if (reads_growth(in)) return follow_halves(in);
  const unsigned length = in.op == Op::kVectorBroadcast ? in.source_size : in.size;
  if ((is_memory(in.source) || is_memory(in.source2)) && !is_constant(address_, length)) return fail(Reason::kGrowingPart);
  for (const Operand* operand : {&in.source, &in.source2}) {
    if (operand->kind != Operand::Kind::kRegister) continue;
    Value value;
    if (!read_register(operand->index, length, value)) return false;
  }
  if (in.op == Op::kVectorTest) set_flags(FlagsOf::kSum, {}, {}, 8, kArithmeticFlags);
  if (is_memory(in.destination)) return store(address_, length, 0);
  if (in.destination.kind == Operand::Kind::kRegister) return write_register(in.destination.index, 8, 0);
  if (is_vector(in.destination) && in.op != Op::kVectorTest) write_steps(in.destination.index, 0, 0);
  return true;
}

// Step of a half of a vector or of 16 bytes of memory, or of a general register.
bool Growth::half_step(const Instruction& in, const Operand& operand, unsigned half, std::uint64_t& step) {
  Value value;
  if (is_vector(operand)) {
    const GrowingHalf& grows = halves_[operand.index][half];
    if (grows.step != 0) sources_ |= grows.sources;
    value.step = grows.step;
  } else if (is_memory(operand) ? !load(address_ + half * kHalf, kHalf, value) : !read(in, operand, kHalf, value)) {
    return false;
  }
  step = value.step;
  return true;
}

void Growth::write_steps(unsigned index, std::uint64_t low, std::uint64_t high) {
  halves_[index] = {GrowingHalf{low, low != 0 ? sources_ : 0}, GrowingHalf{high, high != 0 ? sources_ : 0}};
}

// Operations that move whole halves, or add them. Bits 128-255 do not grow.
bool Growth::follow_halves(const Instruction& in) {
  std::uint64_t low = 0, high = 0, other = 0;
  const auto steps = [&](const Operand& from_low, unsigned half_low, const Operand& from_high, unsigned half_high) {
    return half_step(in, from_low, half_low, low) && half_step(in, from_high, half_high, high);
  };
  const auto write_both = [&] {
    write_steps(in.destination.index, low, high);
    return true;
  };
  const bool moves_half = in.size == kHalf, is_whole = in.size == 2 * kHalf, is_by_half = is_whole && in.source_size == kHalf;
  switch (in.op) {
    case Op::kVectorMove:
      if (!steps(in.source, 0, in.source, 1)) return false;
      if (is_vector(in.destination)) {
        const bool has_more = is_memory(in.source) && !is_whole;
        if (has_more && !is_constant(address_ + 2 * kHalf, in.size - 2 * kHalf)) return fail(Reason::kGrowingPart);
        return write_both();
      }
      return store(address_, in.size, 0) && (low == 0 || store(address_, kHalf, low)) &&
             (high == 0 || store(address_ + kHalf, kHalf, high));
    case Op::kVectorLoadLow:
      if (!moves_half || !half_step(in, in.source, 0, low)) break;
      return write_both();
    case Op::kVectorStoreLow:
      if (!moves_half || !half_step(in, in.source, 0, low)) break;
      return write(in.destination, kHalf, low);
    case Op::kVectorMergeLow:
      if (!moves_half || !steps(in.source2, 0, in.source, 1)) break;
      return write_both();
    case Op::kVectorMoveHigh:
      if (is_memory(in.destination)) return half_step(in, in.source, 1, high) && store(address_, kHalf, high);
      return steps(in.source, 0, in.source2, 0) && write_both();
    case Op::kVectorHighToLow:
      return steps(in.source2, 1, in.source, 1) && write_both();
    case Op::kVectorAdd:
    case Op::kVectorSub:
      if (!is_by_half || !steps(in.source, 0, in.source, 1)) break;
      for (const unsigned half : {0u, 1u}) {
        if (!half_step(in, in.source2, half, other)) return false;
        std::uint64_t& result = half == 0 ? low : high;
        result += in.op == Op::kVectorAdd ? other : 0 - other;
      }
      return write_both();
    case Op::kVectorUnpackLow:
    case Op::kVectorUnpackHigh: {
      const unsigned half = in.op == Op::kVectorUnpackHigh ? 1 : 0;
      if (!is_by_half || !steps(in.source, half, in.source2, half)) break;
      return write_both();
    }
    case Op::kVectorExtract:
      if (!moves_half || !half_step(in, in.source, in.immediate & 1, low)) break;
      return write(in.destination, kHalf, low);
    case Op::kVectorInsert:
      if (!moves_half || !steps(in.source, 0, in.source, 1)) break;
      return half_step(in, in.source2, 0, (in.immediate & 1) == 0 ? low : high) && write_both();
    case Op::kVectorBroadcast:
      if (!is_by_half || !half_step(in, in.source, 0, low)) break;
      high = low;
      return write_both();
    default:
      break;
  }
  return reason_ != Reason::kNone ? false : fail(Reason::kGrowingPart);
}

// Growing halves get bounds.
void Growth::bound_halves(const Operand& operand) {
  if (!is_vector(operand)) return;
  for (const unsigned half : {0u, 1u}) {
    GrowingHalf& grows = halves_[operand.index][half];
    if (grows.step == 0) continue;
    const Range range = narrowest(bounds(state_->vectors.lane[operand.index][half], as_signed(grows.step, kHalf)), kHalf);
    write_half(operand.index, half, {.range = range, .size = kHalf});
    grows = {};
  }
}

bool Growth::bounded_vector(const Instruction& in) {
  for (const Operand* operand : {&in.destination, &in.source, &in.source2}) bound_halves(*operand);
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
                           in.op == Op::kVectorUnpackLow || in.op == Op::kVectorUnpackHigh || in.op == Op::kVectorInsert;
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
    case Op::kVectorInsert:
      if (in.size != kHalf) return fail(Reason::kGrowingPart);
      if (!half_bounds(in.source, 0, low) || !half_bounds(in.source, 1, high)) return false;
      if (!read_bounds(in, in.source2, kHalf, (in.immediate & 1) == 0 ? low : high)) return false;
      return write_both();
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

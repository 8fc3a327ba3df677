// Bounds of a number in all turns considered. Each result includes the results for all values that the
// operands can have; if nothing better is known, it is the range of all numbers of that size.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/supervisor/spin/instruction.h"

namespace verbatim::spin {

// The numbers v modulo 2^(8·size) for v from `least` to `most`. `size` in bytes is kept elsewhere.
struct Range {
  __int128 least = 0, most = 0;

  bool is_single() const { return least == most; }
  friend bool operator==(const Range&, const Range&) = default;
};

// a / b, rounded towards negative infinity. `b` must not be 0.
constexpr __int128 floor_divide(__int128 a, __int128 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

// The same numbers from 0 to 2^(8·size) - 1, or as signed numbers.
Range as_unsigned(const Range& range, unsigned size);
Range as_signed(const Range& range, unsigned size);
// The narrower of the two: a range that crosses zero stays narrow as signed, one that crosses the greatest
// signed number as unsigned.
Range narrowest(const Range& range, unsigned size);

// The result of an instruction's operation: sum, difference, bitwise operation, IMUL, or a shift by a single
// number `b`. nullopt: another operation.
std::optional<Range> combine(Op op, const Range& a, const Range& b, unsigned size);

// Both halves of a product, or a quotient (low) and remainder (high).
struct TwoRanges {
  Range low, high;
};
TwoRanges multiply_wide(const Range& a, const Range& b, unsigned size, bool is_signed);
// nullopt: the divisor may be zero, or is not a single number.
std::optional<TwoRanges> divide(const Range& dividend, const Range& divisor, unsigned size, bool is_signed);

// The outcome of condition code `condition` (0-15, without parity and overflow) after a comparison of a with
// b. nullopt: it is not the same for all values.
std::optional<bool> compare(unsigned condition, const Range& a, const Range& b, unsigned size);

}  // namespace verbatim::spin

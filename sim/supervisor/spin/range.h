// Between which bounds a number lies in all the turns of a loop that are looked at. Every result holds for all values that the
// operands can have; where nothing better is known it is all numbers of that size.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/supervisor/spin/instruction.h"

namespace verbatim::spin {

// Of `size` bytes (not part of it): v modulo 2^(8·size), for some v from `least` to `most`.
struct Range {
  __int128 least = 0, most = 0;

  bool is_single() const { return least == most; }
  friend bool operator==(const Range&, const Range&) = default;
};

// a / b, rounded towards negative infinity. `b` is not 0.
constexpr __int128 floor_divide(__int128 a, __int128 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

// The same numbers, from 0 to 2^(8·size) - 1, and as signed ones.
Range as_unsigned(const Range& range, unsigned size);
Range as_signed(const Range& range, unsigned size);
// The one of these that keeps what is known, where the numbers go past zero or past the greatest signed one.
Range narrowest(const Range& range, unsigned size);

// Sums, differences, bitwise operations, shifts (b: by how much, one number) and IMUL, by the operation of the instruction.
// nullopt: it is none of these.
std::optional<Range> combine(Op op, const Range& a, const Range& b, unsigned size);

// Both halves of the product, and quotient with remainder; `high` is the upper one, and the remainder.
struct TwoRanges {
  Range low, high;
};
TwoRanges multiply_wide(const Range& a, const Range& b, unsigned size, bool is_signed);
// nullopt: the divisor may be zero, or is not one number.
std::optional<TwoRanges> divide(const Range& dividend, const Range& divisor, unsigned size, bool is_signed);

// The outcome of a comparison of a with b by a condition code (0-15, without parity and overflow), when it is the same for all.
std::optional<bool> compare(unsigned condition, const Range& a, const Range& b, unsigned size);

}  // namespace verbatim::spin

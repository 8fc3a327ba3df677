// Results and flags of integer arithmetic, as pure functions. `size` is the operand size in bytes. Operands
// and results are zero-extended. Flags are exact where the architecture defines them (Intel SDM volume 2).
#pragma once

#include <bit>
#include <cstdint>

#include "sim/supervisor/spin/registers.h"
#include "verbs_shim/protocol/conditions.h"

namespace verbatim::spin {

struct AluResult {
  std::uint64_t value = 0;
  std::uint32_t flags = 0;
};

constexpr std::uint64_t size_mask(unsigned size) { return ~0ull >> (64 - 8 * size); }
constexpr std::uint64_t sign_bit(unsigned size) { return 1ull << (8 * size - 1); }
constexpr std::uint64_t sign_extend(std::uint64_t value, unsigned size) {
  const unsigned shift = 64 - 8 * size;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
}

// The value of `size` bytes as a signed number.
constexpr __int128 as_signed(std::uint64_t value, unsigned size) { return static_cast<std::int64_t>(sign_extend(value, size)); }

// Zero, sign and parity flags of a result (parity of the low byte).
constexpr std::uint32_t result_flags(std::uint64_t value, unsigned size) {
  std::uint32_t flags = value == 0 ? kZf : 0;
  flags |= static_cast<std::uint32_t>(value >> (8 * size - 1)) << 7;
  flags |= (std::popcount(static_cast<std::uint8_t>(value)) & 1) ? 0 : kPf;
  return flags;
}

constexpr AluResult add(std::uint64_t a, std::uint64_t b, unsigned carry, unsigned size) {
  const std::uint64_t value = (a + b + carry) & size_mask(size);
  std::uint32_t flags = result_flags(value, size);
  if (value < a || (carry != 0 && value == a)) flags |= kCf;
  if (~(a ^ b) & (a ^ value) & sign_bit(size)) flags |= kOf;
  flags |= static_cast<std::uint32_t>(a ^ b ^ value) & kAf;
  return {value, flags};
}

constexpr AluResult subtract(std::uint64_t a, std::uint64_t b, unsigned borrow, unsigned size) {
  const std::uint64_t value = (a - b - borrow) & size_mask(size);
  std::uint32_t flags = result_flags(value, size);
  if (a < b || (borrow != 0 && a == b)) flags |= kCf;
  if ((a ^ b) & (a ^ value) & sign_bit(size)) flags |= kOf;
  flags |= static_cast<std::uint32_t>(a ^ b ^ value) & kAf;
  return {value, flags};
}

// A shift or rotate also reports the flags that the architecture leaves undefined. `count` is already masked
// and not 0.
struct ShiftResult {
  std::uint64_t value = 0;
  std::uint32_t flags = 0;
  std::uint32_t affected = 0;
  std::uint32_t undefined = 0;
};

constexpr ShiftResult shift_left(std::uint64_t a, unsigned count, unsigned size) {
  const unsigned bits = 8 * size;
  const std::uint64_t value = count < bits ? (a << count) & size_mask(size) : 0;
  ShiftResult result{value, result_flags(value, size), kArithmeticFlags, kAf};
  if (count <= bits && ((a >> (bits - count)) & 1)) result.flags |= kCf;
  if (count >= bits) result.undefined |= kCf;
  if (count == 1) {
    if ((a ^ (a << 1)) & sign_bit(size)) result.flags |= kOf;
  } else {
    result.undefined |= kOf;
  }
  return result;
}

constexpr ShiftResult shift_right(std::uint64_t a, unsigned count, unsigned size) {
  const unsigned bits = 8 * size;
  const std::uint64_t value = count < bits ? a >> count : 0;
  ShiftResult result{value, result_flags(value, size), kArithmeticFlags, kAf};
  if (count <= bits && ((a >> (count - 1)) & 1)) result.flags |= kCf;
  if (count >= bits) result.undefined |= kCf;
  if (count == 1) {
    if (a & sign_bit(size)) result.flags |= kOf;
  } else {
    result.undefined |= kOf;
  }
  return result;
}

constexpr ShiftResult shift_arithmetic(std::uint64_t a, unsigned count, unsigned size) {
  const auto wide = static_cast<std::int64_t>(sign_extend(a, size));
  const std::uint64_t value = static_cast<std::uint64_t>(wide >> count) & size_mask(size);
  ShiftResult result{value, result_flags(value, size), kArithmeticFlags, kAf};
  if ((wide >> (count - 1)) & 1) result.flags |= kCf;
  if (count != 1) result.undefined |= kOf;  // OF is 0 after a shift by one
  return result;
}

constexpr ShiftResult rotate_left(std::uint64_t a, unsigned count, unsigned size) {
  const unsigned bits = 8 * size, turn = count % bits;
  const std::uint64_t value = turn == 0 ? a : ((a << turn) | (a >> (bits - turn))) & size_mask(size);
  ShiftResult result{value, static_cast<std::uint32_t>(value & 1), kCf | kOf, count == 1 ? 0u : kOf};
  if (count == 1 && ((value >> (bits - 1)) ^ value) & 1) result.flags |= kOf;
  return result;
}

constexpr ShiftResult rotate_right(std::uint64_t a, unsigned count, unsigned size) {
  const unsigned bits = 8 * size, turn = count % bits;
  const std::uint64_t value = turn == 0 ? a : ((a >> turn) | (a << (bits - turn))) & size_mask(size);
  const auto top = static_cast<std::uint32_t>(value >> (bits - 1)) & 1;
  ShiftResult result{value, top, kCf | kOf, count == 1 ? 0u : kOf};
  if (count == 1 && (top ^ (value >> (bits - 2))) & 1) result.flags |= kOf;
  return result;
}

using protocol::condition_holds;

}  // namespace verbatim::spin

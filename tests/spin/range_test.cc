// Predicted bounds of results hold for every number within the bounds of the operands.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "sim/supervisor/spin/alu.h"
#include "sim/supervisor/spin/range.h"

namespace verbatim::spin {
namespace {

constexpr int kRounds = 200'000;

class RandomRanges : public testing::Test {
 protected:
  std::uint64_t bits() { return random_() >> (random_() % 64); }
  // Some are one number, some are narrow, some go past zero or the greatest number.
  Range range(unsigned size) {
    const auto least = as_signed(random_() % 4 == 0 ? bits() : 0 - bits(), size);
    const __int128 width = random_() % 3 == 0 ? 0 : bits() & size_mask(size) >> random_() % (8 * size);
    return random_() % 2 == 0 ? Range{least, least + width} : as_unsigned({least, least + width}, size);
  }
  std::uint64_t member(const Range& range, unsigned size) {
    const auto width = static_cast<unsigned __int128>(range.most - range.least);
    const unsigned __int128 at = random_() % 4 == 0 ? 0 : random_() % 4 == 0 ? width : random_() % (width + 1);
    return static_cast<std::uint64_t>(range.least + static_cast<__int128>(at)) & size_mask(size);
  }
  static bool has(const Range& range, std::uint64_t value, unsigned size) {
    const std::uint64_t above = (value - static_cast<std::uint64_t>(range.least)) & size_mask(size);
    return above <= static_cast<unsigned __int128>(range.most - range.least);
  }
  unsigned size() { return random_() % 2 == 0 ? 4 : 8; }

  std::mt19937_64 random_{20};
};

std::uint64_t computed(Op op, std::uint64_t a, std::uint64_t b, unsigned size) {
  const unsigned count = static_cast<unsigned>(b) & (size == 8 ? 63 : 31);
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kImul:
      return a * b;
    case Op::kAnd:
      return a & b;
    case Op::kOr:
      return a | b;
    case Op::kXor:
      return a ^ b;
    case Op::kShl:
      return a << count;
    case Op::kShr:
      return a >> count;
    default:
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(sign_extend(a, size)) >> count);
  }
}

TEST_F(RandomRanges, results_lie_within) {
  constexpr Op kOps[] = {Op::kAdd, Op::kSub, Op::kImul, Op::kAnd, Op::kOr, Op::kXor, Op::kShl, Op::kShr, Op::kSar};
  for (int round = 0; round < kRounds; ++round) {
    const unsigned n = size();
    const Op op = kOps[random_() % std::size(kOps)];
    const Range a = range(n);
    Range b = range(n);
    if (op >= Op::kShl) b = {static_cast<int>(random_() % (8 * n)), 0}, b.most = b.least;
    const auto result = combine(op, a, b, n);
    ASSERT_TRUE(result);
    for (int i = 0; i < 4; ++i) {
      const std::uint64_t x = member(a, n), y = member(b, n);
      const std::uint64_t value = computed(op, x, y, n) & size_mask(n);
      ASSERT_TRUE(has(*result, value, n)) << "round " << round << " operation " << static_cast<int>(op) << " of " << x << " and "
                                          << y << " in " << n << " bytes";
    }
  }
}

TEST_F(RandomRanges, products_and_quotients_lie_within) {
  for (int round = 0; round < kRounds; ++round) {
    const unsigned n = size();
    const bool is_signed = random_() % 2 == 0;
    const Range a = range(n), b = range(n);
    const TwoRanges product = multiply_wide(a, b, n, is_signed);
    const Range by = random_() % 2 == 0 ? Range{b.least, b.least} : b;
    const auto quotient = divide(a, by, n, is_signed);
    for (int i = 0; i < 4; ++i) {
      const std::uint64_t x = member(a, n), y = member(b, n), d = member(by, n);
      const unsigned __int128 whole = is_signed ? static_cast<unsigned __int128>(as_signed(x, n) * as_signed(y, n))
                                                : static_cast<unsigned __int128>(x) * y;
      ASSERT_TRUE(has(product.low, static_cast<std::uint64_t>(whole) & size_mask(n), n)) << round;
      ASSERT_TRUE(has(product.high, static_cast<std::uint64_t>(whole >> 8 * n) & size_mask(n), n)) << round;
      if (!quotient) continue;
      ASSERT_NE(d, 0u);
      const __int128 over = is_signed ? as_signed(x, n) : static_cast<__int128>(x);
      const __int128 under = is_signed ? as_signed(d, n) : static_cast<__int128>(d);
      ASSERT_TRUE(has(quotient->low, static_cast<std::uint64_t>(over / under) & size_mask(n), n)) << round;
      ASSERT_TRUE(has(quotient->high, static_cast<std::uint64_t>(over % under) & size_mask(n), n)) << round;
    }
  }
}

TEST_F(RandomRanges, settled_comparisons_come_out_so) {
  int settled = 0;
  for (int round = 0; round < kRounds; ++round) {
    const unsigned n = size(), condition = static_cast<unsigned>(random_() % 16);
    const Range a = range(n), b = range(n);
    const auto outcome = compare(condition, a, b, n);
    if (!outcome) continue;
    ++settled;
    for (int i = 0; i < 4; ++i) {
      const std::uint64_t x = member(a, n), y = member(b, n);
      ASSERT_EQ(condition_holds(condition, subtract(x, y, 0, n).flags), *outcome)
          << "round " << round << " condition " << condition << " of " << x << " and " << y << " in " << n << " bytes";
    }
  }
  EXPECT_GT(settled, kRounds / 8);
}

TEST(Ranges, keep_what_is_known) {
  const Range part{1'000'000, 1'999'999};
  EXPECT_EQ(*combine(Op::kAdd, part, {5, 5}, 8), (Range{1'000'005, 2'000'004}));
  EXPECT_EQ(*combine(Op::kSub, {1, 3}, {2, 2}, 4), (Range{-1, 1})) << "it goes past zero";
  EXPECT_EQ(divide(part, {1'000, 1'000}, 8, true)->low, (Range{1'000, 1'999}));
  // A compiler's division by 1,000: the upper half of a product, shifted.
  const Range high = multiply_wide(part, {0x20c4'9ba5'e353'f7cf, 0x20c4'9ba5'e353'f7cf}, 8, true).high;
  EXPECT_EQ(*combine(Op::kSar, high, {7, 7}, 8), (Range{1'000, 1'999}));
  EXPECT_EQ(*combine(Op::kOr, part, {2'000, 2'000}, 8), (Range{1'000'000, 2'000'895})) << "of no bit above those of both";
  EXPECT_EQ(compare(static_cast<unsigned>(Condition::kL), part, {2'000'000, 2'000'000}, 8), true);
  EXPECT_EQ(compare(static_cast<unsigned>(Condition::kL), part, {1'999'999, 1'999'999}, 8), std::nullopt);
}

}  // namespace
}  // namespace verbatim::spin

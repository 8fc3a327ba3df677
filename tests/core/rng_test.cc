// Every digest depends on these streams: the values below must never change.
#include "sim/core/rng.h"

#include <gtest/gtest.h>

#include <vector>

namespace verbatim {
namespace {

TEST(Rng, gives_the_reference_values_of_its_stream) {
  Rng one(1, "link/leaf0-h3/loss");
  EXPECT_EQ(one.next(), 0x5f9f6a917d004d88u);
  EXPECT_EQ(one.next(), 0x4b9584d3719ab5d1u);
  EXPECT_EQ(one.next(), 0xe259f9c706288828u);
  EXPECT_EQ(Rng(2, "link/leaf0-h3/loss").next(), 0x6258bb1de37a6b91u);
  EXPECT_EQ(Rng(1, "link/leaf0-h4/loss").next(), 0x01a93c7ef9e53c62u);
}

TEST(Rng, below_gives_the_reference_values_also_where_it_rejects) {
  Rng six(1, "link/leaf0-h3/loss");
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 10; ++i) values.push_back(six.below(6));
  EXPECT_EQ(values, (std::vector<std::uint64_t>{2, 1, 5, 5, 1, 5, 0, 3, 5, 2}));
  Rng half(1, "x");  // a bound just above 2^63 rejects every other number
  EXPECT_EQ(half.below((1ull << 63) + 1), 6178166083497204649u);
  EXPECT_EQ(half.below((1ull << 63) + 1), 583783802978287818u);
  EXPECT_EQ(half.below((1ull << 63) + 1), 3390778361709590316u);
}

TEST(Rng, below_favours_no_value) {
  Rng rng(3, "even");
  std::vector<int> counts(10);
  for (int i = 0; i < 100'000; ++i) ++counts[rng.below(10)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 400);  // four standard deviations
}

TEST(Rng, chance_is_a_ratio) {
  Rng rng(3, "chance");
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) hits += rng.chance(1, 4);
  EXPECT_NEAR(hits, 25'000, 600);
  EXPECT_TRUE(rng.chance(1, 1));
  EXPECT_FALSE(rng.chance(0, 1));
}

}  // namespace
}  // namespace verbatim

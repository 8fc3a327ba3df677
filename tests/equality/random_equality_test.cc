// Thirty random programs have the same bytes in slices and call by call. A failure contains the seed.
#include "tests/equality/random_equality.h"

#include <gtest/gtest.h>

namespace verbatim::equality {
namespace {

class RandomEquality : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomEquality, five_programs) { expect_equal_for_seeds({GetParam(), 5}); }

TEST(RandomEqualityWithFreedom, five_programs) { expect_equal_for_seeds({.first = 56, .count = 5, .spec = true}); }

TEST(RandomEqualityWithPlaces, five_programs) { expect_equal_for_seeds({.first = 37, .count = 5, .places = true}); }

INSTANTIATE_TEST_SUITE_P(FromSeed, RandomEquality, ::testing::Values(1, 21));

}  // namespace
}  // namespace verbatim::equality

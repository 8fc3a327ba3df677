// Four hundred more random programs.
#include <gtest/gtest.h>

#include "tests/equality/random_equality.h"

namespace verbatim::equality {
namespace {

class RandomEqualitySweep : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomEqualitySweep, forty_programs) { expect_equal_for_seeds(GetParam(), 40); }

TEST_P(RandomEqualitySweep, forty_programs_with_freedom) { expect_equal_for_seeds(GetParam(), 40, true); }

INSTANTIATE_TEST_SUITE_P(FromSeed, RandomEqualitySweep,
                         ::testing::Values(1001, 1041, 1081, 1121, 1161, 1201, 1241, 1281, 1321, 1361));

}  // namespace
}  // namespace verbatim::equality

// Sixteen hundred more random programs, four hundred of each kind: with and without freedom, with and without
// memory of their own; and those selected by VERBATIM_RANDOM_SEEDS="FIRST COUNT".
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "tests/equality/random_equality.h"

namespace verbatim::equality {
namespace {

class RandomEqualitySweep : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomEqualitySweep, forty_programs) { expect_equal_for_seeds({GetParam(), 40}); }

TEST_P(RandomEqualitySweep, forty_programs_with_freedom) { expect_equal_for_seeds({GetParam(), 40, true}); }

TEST_P(RandomEqualitySweep, forty_programs_with_places) { expect_equal_for_seeds({GetParam(), 40, false, true}); }

TEST_P(RandomEqualitySweep, forty_programs_with_places_and_freedom) { expect_equal_for_seeds({GetParam(), 40, true, true}); }

INSTANTIATE_TEST_SUITE_P(FromSeed, RandomEqualitySweep,
                         ::testing::Values(1001, 1041, 1081, 1121, 1161, 1201, 1241, 1281, 1321, 1361));

TEST(RandomEqualityAskedFor, programs_of_these_seeds) {
  const char* const asked = std::getenv("VERBATIM_RANDOM_SEEDS");
  if (asked == nullptr) GTEST_SKIP() << "VERBATIM_RANDOM_SEEDS names none";
  RandomPrograms programs{.places = true};
  std::istringstream(asked) >> programs.first >> programs.count;
  for (std::uint64_t last = programs.first + programs.count; programs.first < last; ++programs.first) {
    programs.count = 1;
    programs.spec = programs.first % 4 >= 2;
    expect_equal_for_seeds(programs);
  }
}

}  // namespace
}  // namespace verbatim::equality

// A thousand seeds of each repaired race, fewer of mistakes that always fail, and a hundred runs of a seed
// that shows the bug.
#include <gtest/gtest.h>

#include "tests/litmus/seeds.h"

namespace verbatim::litmus {
namespace {

class LitmusSweep : public ::testing::TestWithParam<Pair> {};

TEST_P(LitmusSweep, no_seed_breaks_the_repair) {
  const int count = GetParam().fails_when_friendly ? 200 : 1000;
  const Seeds fixed = run_seeds(GetParam(), "fixed", "spec", 1, count);
  EXPECT_EQ(fixed.as_expected, count) << fixed.story;
}

TEST_P(LitmusSweep, a_seed_that_shows_the_bug_shows_it_a_hundred_times) {
  const Seeds buggy = run_seeds(GetParam(), "buggy", "spec", 1, 200);
  RecordProperty("failing_seeds", static_cast<int>(buggy.failed.size()));
  ASSERT_FALSE(buggy.failed.empty()) << buggy.story;
  const std::string digest = run_seed(GetParam(), "buggy", "spec", buggy.failed.front()).digest();
  for (int i = 0; i < 100; ++i) {
    const support::RunReport again = run_seed(GetParam(), "buggy", "spec", buggy.failed.front());
    EXPECT_NE(again.code, 0);
    EXPECT_EQ(again.digest(), digest);
  }
}

TEST_P(LitmusSweep, in_slices_and_call_by_call_the_same) { expect_same_in_both_modes(GetParam(), 2, 10); }

INSTANTIATE_TEST_SUITE_P(Pairs, LitmusSweep, ::testing::ValuesIn(pairs()));

class LitmusServiceSweep : public ::testing::TestWithParam<Service> {};

// In a minute an idle machine makes some thousands of runs.
TEST_P(LitmusServiceSweep, is_found_from_a_cold_start_within_a_minute_and_explained) {
  expect_found(GetParam(), {"--time", "60s", "--shrink-time", "60s"}, true);
}

TEST_P(LitmusServiceSweep, no_seed_breaks_the_repair) {
  const Seeds fixed = run_seeds({.name = GetParam().name}, "fixed", "spec", 1, 300);
  EXPECT_EQ(fixed.as_expected, 300) << fixed.story;
}

TEST_P(LitmusServiceSweep, in_slices_and_call_by_call_the_same) {
  expect_same_in_both_modes({.name = GetParam().name}, 2, 3);
}

INSTANTIATE_TEST_SUITE_P(Services, LitmusServiceSweep, ::testing::ValuesIn(services()));

}  // namespace
}  // namespace verbatim::litmus

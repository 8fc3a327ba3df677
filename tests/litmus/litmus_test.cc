// For each pair: some seed shows the bug of `buggy` in each of its runs, and no seed breaks `fixed`.
#include <gtest/gtest.h>

#include "tests/litmus/seeds.h"

namespace verbatim::litmus {
namespace {

class Litmus : public ::testing::TestWithParam<Pair> {};

TEST_P(Litmus, as_on_everyday_hardware) {
  const Seeds buggy = run_seeds(GetParam(), "buggy", "friendly", 1, 2);
  EXPECT_EQ(buggy.failed.size(), GetParam().fails_when_friendly ? 2u : 0u) << buggy.story;
  const Seeds fixed = run_seeds(GetParam(), "fixed", "friendly", 1, 2);
  EXPECT_EQ(fixed.as_expected, 2) << fixed.story;
}

TEST_P(Litmus, a_seed_shows_the_bug_and_the_same_seed_always_does) {
  const Seeds buggy = run_seeds(GetParam(), "buggy", "spec", 1, GetParam().seeds);
  ASSERT_FALSE(buggy.failed.empty()) << buggy.story;
  EXPECT_EQ(buggy.code, 1);
  EXPECT_EQ(buggy.as_expected, GetParam().seeds - static_cast<std::int64_t>(buggy.failed.size()));
  const support::RunReport first = run_seed(GetParam(), "buggy", "spec", buggy.failed.front());
  EXPECT_NE(first.code, 0) << first.story();
  for (int i = 0; i < 2; ++i) {
    const support::RunReport again = run_seed(GetParam(), "buggy", "spec", buggy.failed.front());
    EXPECT_EQ(again.code, first.code) << again.story();
    EXPECT_EQ(again.trace, first.trace);
    EXPECT_EQ(again.digest(), first.digest());
  }
}

TEST_P(Litmus, no_seed_breaks_the_repair) {
  const int count = GetParam().fails_when_friendly ? 3 : 5;
  const Seeds fixed = run_seeds(GetParam(), "fixed", "spec", 1, count);
  EXPECT_EQ(fixed.as_expected, count) << fixed.story;
  EXPECT_EQ(fixed.code, 0);
}

TEST_P(Litmus, in_slices_and_call_by_call_the_same) { expect_same_in_both_modes(GetParam(), 1, 1); }

INSTANTIATE_TEST_SUITE_P(Pairs, Litmus, ::testing::ValuesIn(pairs()));

}  // namespace
}  // namespace verbatim::litmus

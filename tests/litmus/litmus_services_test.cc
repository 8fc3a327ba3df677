// Five small services with a bug each: like on ordinary hardware they succeed by default, their repairs
// always do, and a search without prior knowledge finds the bug. Searches of many runs are in litmus_sweep.
#include <gtest/gtest.h>

#include "tests/litmus/seeds.h"

namespace verbatim::litmus {
namespace {

class LitmusService : public ::testing::TestWithParam<Service> {};

TEST_P(LitmusService, ends_well_as_on_everyday_hardware) {
  for (const char* variant : {"buggy", "fixed"}) {
    const Seeds seeds = run_seeds({.name = GetParam().name}, variant, "friendly", 1, 1);
    EXPECT_EQ(seeds.as_expected, 1) << seeds.story;
  }
}

TEST_P(LitmusService, no_seed_breaks_the_repair) {
  const Seeds fixed = run_seeds({.name = GetParam().name}, "fixed", "spec", 1, 4);
  EXPECT_EQ(fixed.as_expected, 4) << fixed.story;
}

TEST_P(LitmusService, is_found_where_a_few_runs_do) {
  if (!GetParam().is_found_soon) GTEST_SKIP() << "litmus_sweep searches for it";
  expect_found(GetParam(), {"--runs", "6", "--shrink-time", "1ms"});
}

INSTANTIATE_TEST_SUITE_P(Services, LitmusService, ::testing::ValuesIn(services()));

}  // namespace
}  // namespace verbatim::litmus

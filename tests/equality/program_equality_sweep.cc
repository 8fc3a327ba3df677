// Slow: unmodified scenarios and longer perftest runs have the same bytes in slices and call by call.
#include <gtest/gtest.h>

#include "tests/equality/both_modes.h"

namespace verbatim::equality {
namespace {

class ScenarioEqualitySweep : public ::testing::TestWithParam<std::string> {};

TEST_P(ScenarioEqualitySweep, slices_and_call_by_call) { expect_equal(run_both(path_of_scenario(GetParam()))); }

INSTANTIATE_TEST_SUITE_P(OfTheProject, ScenarioEqualitySweep, ::testing::ValuesIn(shipped_scenarios()),
                         [](const auto& info) { return info.param; });

class PerftestEqualitySweep : public ::testing::TestWithParam<std::string> {};

TEST_P(PerftestEqualitySweep, slices_and_call_by_call) {
  expect_equal(run_both({.commands = {"server=" + GetParam(), "client=" + GetParam() + " server"}}));
}

INSTANTIATE_TEST_SUITE_P(Runs, PerftestEqualitySweep,
                         ::testing::Values("ibv_rc_pingpong", "ib_send_bw -n 10 -a", "ib_send_lat -n 5 -a",
                                           "ib_send_lat -n 5 -a --use_old_post_send", "ib_write_bw -n 10 -a",
                                           "ib_write_lat -n 5 -a", "ib_read_bw -n 10 -a",
                                           "ib_read_lat -n 5 -a", "ib_send_bw", "ib_send_bw -e",
                                           "ib_send_lat -e", "ib_write_bw -b -n 1000", "ib_write_lat",
                                           "ib_read_bw -b", "ib_send_bw -b -q 4 -s 64"));

}  // namespace
}  // namespace verbatim::equality

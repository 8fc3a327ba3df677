// Are the waiting loops of programs seen as waiting, and does nobody notice that their turns are not executed.
#include <gtest/gtest.h>

#include "tests/equality/both_modes.h"
#include "tests/waits/scoreboard.h"

namespace verbatim::waits {
namespace {

class WaitingLoops : public ::testing::TestWithParam<std::string> {};

TEST_P(WaitingLoops, are_parked) {
  if (!is_built(GetParam())) GTEST_SKIP() << "its compiler is not on this machine";
  expect_parked(GetParam(), not_proven(GetParam()));
}

// Short: call by call each poll is handed over. What the program prints holds its counters.
TEST_P(WaitingLoops, slices_and_call_by_call) {
  if (!is_built(GetParam())) GTEST_SKIP() << "its compiler is not on this machine";
  bool is_mine = GetParam() == "gcc-O0";
  for (const std::string& wait_case : cases_of(GetParam())) {
    is_mine = !is_mine;  // each variant has half of them
    if (!is_mine) continue;
    SCOPED_TRACE(wait_case);
    equality::expect_equal(equality::run_both(request(GetParam(), wait_case, 60)));
  }
}

INSTANTIATE_TEST_SUITE_P(Compiled, WaitingLoops, ::testing::Values("gcc-O0", "gcc-O2"),
                         [](const auto& info) { return info.param.substr(0, 3) + "_" + info.param.substr(4); });

}  // namespace
}  // namespace verbatim::waits

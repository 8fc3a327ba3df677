// The machine refuses one call of the simulator itself: the run ends with a sentence and a right exit code, or
// succeeds as usual. Some uses of each function fail; in failing_machine_sweep each use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/machine_failures/failing_run.h"

namespace verbatim::machine_failures {
namespace {

struct FailingMachine : testing::TestWithParam<Function> {};

TEST_P(FailingMachine, ends_with_a_sentence_or_as_usual) { expect_right_ends(GetParam(), false); }

// The folders of a host are made when a program first uses one of them.
TEST(FailingFolder, of_a_host_ends_the_run) {
  if (!can_confine()) GTEST_SKIP() << "needs PID namespaces (root)";
  const unsigned last = usual_run().uses.at("mkdir");
  const Outcome outcome = run_with({"mkdir", "ENOSPC", last}, &usual_run());
  EXPECT_EQ(outcome.code, 71) << outcome.command;
  EXPECT_EQ(outcome.wrong, "");
  EXPECT_THAT(outcome.err, testing::HasSubstr("the machine refused a folder for the files of host client in"));
  EXPECT_THAT(outcome.err, testing::HasSubstr("No space left on device (set TMPDIR)"));
}

INSTANTIATE_TEST_SUITE_P(Some, FailingMachine, testing::ValuesIn(functions()),
                         [](const auto& function) { return function.param.first; });

}  // namespace
}  // namespace verbatim::machine_failures

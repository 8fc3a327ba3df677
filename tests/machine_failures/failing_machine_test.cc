// The machine refuses one call of the simulator's own: the run ends with a sentence and a right exit code, or
// succeeds as usual. Some uses of each function; failing_machine_sweep lets every one fail.
#include <gtest/gtest.h>

#include "tests/machine_failures/failing_run.h"

namespace verbatim::machine_failures {
namespace {

using Function = std::pair<std::string, std::vector<std::string>>;

struct FailingMachine : testing::TestWithParam<Function> {};

TEST_P(FailingMachine, ends_with_a_sentence_or_as_usual) {
  if (!can_confine()) GTEST_SKIP() << "needs PID namespaces (root)";
  const auto& [function, errors] = GetParam();
  ASSERT_EQ(usual_run().wrong, "");
  ASSERT_EQ(usual_run().code, 0) << usual_run().err;
  const unsigned most = usual_run().uses.at(function);
  std::vector<unsigned> uses;
  for (const unsigned use : {1u, 2u, most / 2, most}) {
    if (use != 0 && use <= most && (uses.empty() || use > uses.back())) uses.push_back(use);
  }
  ASSERT_FALSE(uses.empty()) << "the run does not call " << function << ": remove it from functions.h";
  expect_right_ends(function, errors, uses);
}

INSTANTIATE_TEST_SUITE_P(Some, FailingMachine, testing::ValuesIn(functions()),
                         [](const auto& function) { return function.param.first; });

}  // namespace
}  // namespace verbatim::machine_failures

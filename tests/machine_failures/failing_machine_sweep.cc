// Lets every use of every function fail once, with each of its errors (failing_machine_test.cc).
#include <gtest/gtest.h>

#include <numeric>

#include "tests/machine_failures/failing_run.h"

namespace verbatim::machine_failures {
namespace {

using Function = std::pair<std::string, std::vector<std::string>>;

struct FailingMachine : testing::TestWithParam<Function> {};

TEST_P(FailingMachine, ends_with_a_sentence_or_as_usual) {
  if (!can_confine()) GTEST_SKIP() << "needs PID namespaces (root)";
  const auto& [function, errors] = GetParam();
  ASSERT_EQ(usual_run().wrong, "");
  std::vector<unsigned> uses(usual_run().uses.at(function));
  std::iota(uses.begin(), uses.end(), 1);
  ASSERT_FALSE(uses.empty()) << "the run does not call " << function << ": remove it from functions.h";
  expect_right_ends(function, errors, uses);
}

INSTANTIATE_TEST_SUITE_P(All, FailingMachine, testing::ValuesIn(functions()),
                         [](const auto& function) { return function.param.first; });

}  // namespace
}  // namespace verbatim::machine_failures

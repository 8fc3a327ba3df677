// Lets every use of every function fail once, with each of its errors (failing_machine_test.cc).
#include <gtest/gtest.h>

#include "tests/machine_failures/failing_run.h"

namespace verbatim::machine_failures {
namespace {

struct FailingMachine : testing::TestWithParam<Function> {};

TEST_P(FailingMachine, ends_with_a_sentence_or_as_usual) { expect_right_ends(GetParam(), true); }

INSTANTIATE_TEST_SUITE_P(All, FailingMachine, testing::ValuesIn(functions()),
                         [](const auto& function) { return function.param.first; });

}  // namespace
}  // namespace verbatim::machine_failures

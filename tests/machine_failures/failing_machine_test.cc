// The machine refuses one call of the simulator itself: the run ends with a sentence and a right exit code, or
// succeeds as usual. Some uses of each function fail; in failing_machine_sweep each use.
#include <gtest/gtest.h>

#include "tests/machine_failures/failing_run.h"

namespace verbatim::machine_failures {
namespace {

struct FailingMachine : testing::TestWithParam<Function> {};

TEST_P(FailingMachine, ends_with_a_sentence_or_as_usual) { expect_right_ends(GetParam(), false); }

INSTANTIATE_TEST_SUITE_P(Some, FailingMachine, testing::ValuesIn(functions()),
                         [](const auto& function) { return function.param.first; });

}  // namespace
}  // namespace verbatim::machine_failures

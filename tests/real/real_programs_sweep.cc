// All of qperf's verbs tests.
#include "tests/real/qperf.h"

namespace verbatim::real {
namespace {

class QperfSweep : public ::testing::TestWithParam<QperfTest> {};

TEST_P(QperfSweep, gives_the_figure_of_the_link_and_one_digest) {
  const support::RunReport first = support::run(qperf_request(GetParam()));
  expect_figure(GetParam(), first);
  EXPECT_EQ(first.digest(), support::run(qperf_request(GetParam())).digest());
}

INSTANTIATE_TEST_SUITE_P(All, QperfSweep, ::testing::ValuesIn(qperf_tests()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace verbatim::real

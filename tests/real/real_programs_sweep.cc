// Slow: all verbs tests of qperf, and every program twenty times.
#include "tests/equality/both_modes.h"
#include "tests/real/qperf.h"
#include "tests/real/shell.h"
#include "tests/support/one_digest.h"

namespace verbatim::real {
namespace {

class QperfSweep : public ::testing::TestWithParam<QperfTest> {};

TEST_P(QperfSweep, gives_the_figure_of_the_link) {
  expect_figure(GetParam(), support::run(qperf_request(GetParam())));
}

TEST_P(QperfSweep, gives_one_digest_in_twenty_runs) { support::expect_one_digest(qperf_request(GetParam())); }

TEST_P(QperfSweep, is_the_same_in_both_modes) {
  equality::expect_equal(equality::run_both(qperf_request(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(All, QperfSweep, ::testing::ValuesIn(qperf_tests()),
                         [](const auto& info) { return info.param.name; });

TEST(ShellSweep, gives_one_digest_in_twenty_runs) {
  for (const Commands& commands : {pipelines(), netcat(), iperf3(), python_processes()}) {
    SCOPED_TRACE(commands.front());
    support::expect_one_digest({.commands = commands});
  }
}

TEST(ShellSweep, tls_gives_one_digest_in_twenty_runs) {
  const support::TemporaryFolder folder;
  support::expect_one_digest({.commands = make_certificate("key.pem", "certificate.pem"), .working_directory = folder.path()});
  support::expect_one_digest({.commands = tls("key.pem", "certificate.pem"), .working_directory = folder.path()});
}

}  // namespace
}  // namespace verbatim::real

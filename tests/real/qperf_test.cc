// Some of qperf's tests, in slices and call by call: events, EINTR by its timer, a server that forks for each
// client and listens on IPv6.
#include "tests/real/qperf.h"

#include "tests/equality/both_modes.h"

namespace verbatim::real {
namespace {

class Qperf : public ::testing::TestWithParam<const char*> {};

TEST_P(Qperf, measures_the_distance_in_both_modes) {
  const QperfTest& test = qperf_test(GetParam());
  const equality::BothModes runs = equality::run_both(qperf_request(test));
  equality::expect_equal(runs);
  expect_figure(test, runs.slices);
}

INSTANTIATE_TEST_SUITE_P(Latency, Qperf,
                         ::testing::Values("rc_lat", "rc_rdma_read_lat", "uc_rdma_write_poll_lat", "ud_lat"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Qperf, tells_of_both_hosts) {
  support::RunRequest request = qperf_request({.name = "conf"});
  const support::RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  for (const char* line : {"loc_node   =  client", "rem_node   =  server"}) {
    EXPECT_NE(run.output("client").find(line), std::string::npos) << run.story();
  }
}

}  // namespace
}  // namespace verbatim::real

#include "tests/real/qperf.h"

#include <algorithm>
#include <regex>

namespace verbatim::real {

namespace {

// One direction is 20 km of fibre at 5 ns/m: 100 us. Adapters, switch and the few bytes on the wire add at
// most 3 %, including the receiver's wake-up by an event.
constexpr double kOneWayUs = 100, kLatencyMargin = 1.04;
// SDR 1x carries 250 MB/s of packets; 4096 bytes of each 4122 are payload, 2048 of 2082 for datagrams.
constexpr double kLinkMBs = 250;

QperfTest latency(const std::string& name, double ways) {
  return {name, "latency", ways * kOneWayUs, ways * kOneWayUs * kLatencyMargin, "us"};
}
// Bandwidth fills the link but for the first and last round trip of a second.
QperfTest bandwidth(const std::string& name, const std::string& figure, double directions = 1) {
  return {name, figure, 0.97 * directions * kLinkMBs, 1.0 * directions * kLinkMBs, "MB/sec"};
}
// 16 atomics outstanding (max_qp_rd_atom) in each round trip.
QperfTest atomics(const std::string& name) {
  constexpr double kPerSecond = 16 / (2 * kOneWayUs);  // in millions
  return {name, "msg_rate", kPerSecond * 1000 * 0.97, kPerSecond * 1000, "K/sec"};
}

}  // namespace

const std::vector<QperfTest>& qperf_tests() {
  static const std::vector<QperfTest> tests = {
      latency("rc_lat", 1),
      latency("rc_rdma_read_lat", 2),
      latency("rc_rdma_write_lat", 1),
      latency("rc_rdma_write_poll_lat", 1),
      latency("uc_lat", 1),
      latency("uc_rdma_write_lat", 1),
      latency("uc_rdma_write_poll_lat", 1),
      latency("ud_lat", 1),
      bandwidth("rc_bw", "bw"),
      bandwidth("rc_bi_bw", "bw", 2),
      bandwidth("rc_rdma_read_bw", "bw"),
      bandwidth("rc_rdma_write_bw", "bw"),
      bandwidth("uc_bw", "recv_bw"),
      bandwidth("uc_bi_bw", "recv_bw", 2),
      bandwidth("uc_rdma_write_bw", "recv_bw"),
      bandwidth("ud_bw", "recv_bw"),
      bandwidth("ud_bi_bw", "recv_bw", 2),
      atomics("rc_compare_swap_mr"),
      atomics("rc_fetch_add_mr"),
      atomics("ver_rc_compare_swap"),
      atomics("ver_rc_fetch_add"),
  };
  return tests;
}

const QperfTest& qperf_test(const std::string& name) {
  const auto& tests = qperf_tests();
  return *std::ranges::find(tests, name, &QperfTest::name);
}

support::RunRequest qperf_request(const QperfTest& test) {
  support::RunRequest request;
  request.topology = std::string(REAL_FOLDER) + "/far_hosts.json";
  request.commands = {"server=qperf &", "client=qperf server -t 1 " + test.name};
  return request;
}

void expect_figure(const QperfTest& test, const support::RunReport& run) {
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_TRUE(run.report["warnings"].empty()) << run.report["warnings"];
  std::smatch match;
  const std::regex line("\\b" + test.figure + " +=  ([0-9.]+) " + test.unit);
  ASSERT_TRUE(std::regex_search(run.output("client"), match, line)) << run.story();
  const double value = std::stod(match[1]);
  EXPECT_GE(value, test.least) << run.output("client");
  EXPECT_LE(value, test.most) << run.output("client");
}

}  // namespace verbatim::real

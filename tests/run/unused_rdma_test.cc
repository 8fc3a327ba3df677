// The warning about libraries for RDMA that used TCP sockets only.
#include "tools/verbatim/unused_rdma.h"

#include <gmock/gmock.h>

#include "tests/support/verbatim_run.h"

namespace verbatim::cli {
namespace {

using support::RunReport;
using ::testing::HasSubstr;
using ::testing::Not;

config::ScenarioSpec scenario_with(std::vector<std::string> command) {
  config::ScenarioSpec scenario;
  scenario.topology.adapters.resize(2);
  scenario.programs.push_back({.host = "server", .command = std::move(command)});
  return scenario;
}

// 3 MB over sockets by programs with this library.
supervisor::RunResult result_with(const std::string& library) {
  supervisor::RunResult result;
  result.tcp_bytes_between_hosts = 3'000'000;
  result.code_files = {"/usr/lib/libc.so.6", "/usr/lib/" + library};
  return result;
}

TEST(UnusedRdma, names_the_library_and_its_remedy) {
  const config::ScenarioSpec scenario = scenario_with({"mpirun", "app"});
  EXPECT_THAT(
      unused_rdma_text(scenario, result_with("libucp.so.0"), 0),
      ::testing::MatchesRegex(
          "no RDMA packet was sent, and 3.0 MB went over TCP sockets between hosts, although programs loaded UCX: .*libuct_ib.so.*"));
  EXPECT_THAT(unused_rdma_text(scenario, result_with("libopen-pal.so.40"), 0),
              HasSubstr("mpirun --mca pml ucx --mca osc ucx"));
  EXPECT_THAT(unused_rdma_text(scenario, result_with("libfabric.so.1"), 0), HasSubstr("FI_PROVIDER"));
}

TEST(UnusedRdma, an_opened_adapter_counts_without_a_known_library) {
  supervisor::RunResult result = result_with("libz.so.1");
  EXPECT_EQ(unused_rdma_text(scenario_with({"app"}), result, 0), "")
      << "a program that has nothing to do with RDMA";
  result.used_adapters = true;
  EXPECT_THAT(unused_rdma_text(scenario_with({"app"}), result, 0), HasSubstr("a program opened an adapter"));
}

TEST(UnusedRdma, is_silent_if_packets_or_requests_were_sent_or_little_went_over_tcp) {
  const config::ScenarioSpec scenario = scenario_with({"app"});
  supervisor::RunResult result = result_with("libucp.so.0");
  EXPECT_EQ(unused_rdma_text(scenario, result, 1), "");
  result.queues.push_back({.send_most = 1});
  EXPECT_EQ(unused_rdma_text(scenario, result, 0), "") << "an adapter that sends to itself";
  result = result_with("libucp.so.0");
  result.tcp_bytes_between_hosts = kMuchTcpPayload - 1;
  EXPECT_EQ(unused_rdma_text(scenario, result, 0), "");
  result = result_with("libucp.so.0");
  config::ScenarioSpec without_adapters = scenario;
  without_adapters.topology.adapters.clear();
  EXPECT_EQ(unused_rdma_text(without_adapters, result, 0), "");
}

TEST(UnusedRdma, is_silent_if_tcp_was_asked_for) {
  const supervisor::RunResult result = result_with("libucp.so.0");
  EXPECT_EQ(unused_rdma_text(scenario_with({"mpirun", "--mca", "btl", "self,tcp", "app"}), result, 0), "");
  config::ScenarioSpec scenario = scenario_with({"app"});
  scenario.programs[0].environment["UCX_TLS"] = "tcp";
  EXPECT_EQ(unused_rdma_text(scenario, result, 0), "");
  scenario.programs[0].environment["UCX_TLS"] = "rc";
  EXPECT_NE(unused_rdma_text(scenario, result, 0), "");
}

// Sends 2 MB over a socket; `first` runs before.
RunReport run_sender(const std::string& first) {
  support::RunRequest request;
  request.commands = {
      "server=python3 -c 'import socket; s = socket.create_server((\"\", 7000)).accept()[0]\n"
      "while s.recv(65536): pass'",
      "client=sh -c \"" + first +
          " python3 -c 'import socket; socket.create_connection((\\\"server\\\", 7000)).sendall(bytes(2000000))'\""};
  return support::run(request);
}

TEST(UnusedRdma, is_in_the_output_and_in_run_json) {
  const RunReport result = run_sender("ibv_devinfo >/dev/null;");
  ASSERT_EQ(result.code, 0) << result.story();
  const std::string text =
      "no RDMA packet was sent, and 2.0 MB went over TCP sockets between hosts, although a program opened an adapter";
  EXPECT_THAT(result.err, HasSubstr("verbatim: warning: " + text));
  EXPECT_THAT(result.report["warnings"].dump(), HasSubstr(text));
  const RunReport sockets_only = run_sender("");
  ASSERT_EQ(sockets_only.code, 0) << sockets_only.story();
  EXPECT_THAT(sockets_only.err, Not(HasSubstr("no RDMA packet")));
}

}  // namespace
}  // namespace verbatim::cli

// Shells, pipes, sockets, and programs that read other programs' output.
#include "tests/real/shell.h"

#include "tests/equality/both_modes.h"

namespace verbatim::real {
namespace {

using support::RunReport;
using support::RunRequest;

// Returns the result in slices, after checking that both modes are equal.
RunReport run_alike(Commands commands, const std::string& working_directory = "") {
  RunRequest request;
  request.working_directory = working_directory;
  request.commands = std::move(commands);
  const equality::BothModes runs = equality::run_both(request);
  equality::expect_equal(runs);
  return runs.slices;
}

TEST(Shell, pipelines_and_jobs) {
  const RunReport run = run_alike(pipelines());
  EXPECT_EQ(run.output("server"),
            "2000\n1999\n1998\nearly\nlate\nfailed 3\na1 a2 b1 b2\n1\n4\n9\nsubstituted\ntrapped\n");
}

TEST(Shell, netcat_carries_a_pipeline_to_another_host) {
  const RunReport run = run_alike(netcat());
  EXPECT_EQ(run.output("server"), run.errors("client"));
  EXPECT_EQ(run.output("server").size(), 64u + 4);
}

TEST(Shell, iperf3_measures_the_management_network) {
  const RunReport run = run_alike(iperf3());
  const auto report = nlohmann::json::parse(run.output("client"));
  EXPECT_EQ(report["end"]["sum_sent"]["bytes"], 4 << 20);
  // The network's rate is 10 Gb/s; the start of the connection takes time.
  const double rate = nlohmann::json::parse(run.output("server"))["end"]["sum_received"]["bits_per_second"];
  EXPECT_GT(rate, 5e9);
  EXPECT_LE(rate, 10e9);
}

TEST(Shell, ping_and_traceroute_reach_another_host) {
  const auto output = [](const std::string& command) {
    const RunReport run = run_alike({"server=sleep 3", "client=" + command});
    EXPECT_TRUE(run.report["warnings"].empty()) << run.report["warnings"];
    return run.output("client");
  };
  for (const std::string name : {"server", "server.ip6"}) {
    EXPECT_NE(output("ping -c 2 " + name).find("icmp_seq=2 ttl=64 time=0.04"), std::string::npos) << name;
    EXPECT_NE(output("tracepath -n " + name).find("pmtu 1500 hops 1 back 1"), std::string::npos) << name;
    EXPECT_NE(output("traceroute -n " + name).find("0.040 ms  0.040 ms  0.040 ms\n"), std::string::npos) << name;
  }
}

TEST(Shell, openssl_speaks_tls_between_hosts) {
  const support::TemporaryFolder folder;
  run_alike(make_certificate("key.pem", "certificate.pem"), folder.path());
  const RunReport run = run_alike(tls("key.pem", "certificate.pem"), folder.path());
  EXPECT_EQ(run.output("client"), "from the server\n");
  EXPECT_NE(run.output("server").find("from the client\n"), std::string::npos) << run.story();
}

// Processes of one program, with queues, locks and shared memory, and other programs' output.
TEST(Shell, python_with_processes_of_its_own) {
  const RunReport run = run_alike(python_processes());
  EXPECT_NE(run.output("server").find("pool: [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]\n"), std::string::npos);
  EXPECT_NE(run.output("server").find("counter: 300\n"), std::string::npos);
  EXPECT_NE(run.output("server").find("sent: b'content' 7\nreceived: b'two' 2 b'content'\n"), std::string::npos)
      << run.story();
  EXPECT_NE(run.output("server").find("inet 10.0.0.1/8"), std::string::npos);
  EXPECT_NE(run.output("server").find("state:\t\t\tPORT_ACTIVE (4)"), std::string::npos);
}

}  // namespace
}  // namespace verbatim::real

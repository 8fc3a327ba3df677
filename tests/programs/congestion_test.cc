// Real programs over Ethernet between adapters with DCQCN: marked packets slow them down, and counters say so.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

using nlohmann::json;

json json_of(const std::string& path) { return json::parse(support::text_of_file(path)); }

// The topology two_hosts_roce, whose adapters have a controller and send ECN-capable packets.
std::string write_topology(const std::string& folder, const std::string& controller) {
  json profile = json_of(std::string(VERBATIM_SOURCE_DIR "/topologies/profiles/edr_hca.json"));
  profile["congestion_control"]["controller"] = {{"value", controller}, {"source", "this test"}};
  profile["congestion_control"]["ecn_capable"] = {{"value", true}, {"source", "this test"}};
  std::ofstream(folder + "/marked_hca.json") << profile.dump(2);
  json topology = json_of(support::topology("two_hosts_roce"));
  topology["interface_mtu"] = 9000;  // every seventh of packets of 4096 bytes is one in 2.3 us
  for (json& host : topology["hosts"]) host["hca"] = "marked_hca";
  std::ofstream(folder + "/marked.json") << topology.dump(2);
  return folder + "/marked.json";
}

const std::string kCounters = "cd /sys/class/infiniband/mlx5_0/ports/1/hw_counters; cat np_cnp_sent "
                              "np_ecn_marked_roce_packets rp_cnp_handled rp_cnp_ignored";

support::RunRequest transfer(const std::string& topology, bool with_marks) {
  const std::string program = "ib_write_bw -x 1 -s 65536 -n 600";
  support::RunRequest request;
  request.topology = topology;
  request.commands = {"server=sh -c '" + program + "; " + kCounters + "'",
                      "client=sh -c '" + program + " server; " + kCounters + "'"};
  if (with_marks) {
    request.options = {"--fault", R"({"action": "mark", "from": "client", "opcode": "RDMA Write Middle", "nth": 100, "every": 7,
                                     "count": 40})"};
  }
  return request;
}

// The last four lines.
std::vector<long> counters_of(const std::string& output) {
  std::vector<long> lines;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.find_first_not_of("0123456789") == std::string::npos) lines.push_back(std::stol(line));
  }
  return lines;
}

TEST(CongestionOfPrograms, marks_slow_a_transfer_down_and_are_counted) {
  const support::TemporaryFolder folder;
  const std::string topology = write_topology(folder.path(), "dcqcn-nv");
  const auto free = support::run(transfer(topology, false));
  ASSERT_EQ(free.code, 0) << free.story();
  EXPECT_EQ(counters_of(free.output("server")), (std::vector<long>{0, 0, 0, 0})) << free.story();
  const equality::BothModes runs = equality::run_both(transfer(topology, true));
  equality::expect_equal(runs);
  const support::RunReport& marked = runs.slices;
  ASSERT_EQ(marked.code, 0) << marked.story();
  const auto server = counters_of(marked.output("server")), client = counters_of(marked.output("client"));
  ASSERT_EQ(server.size(), 4u) << marked.story();
  ASSERT_EQ(client.size(), 4u) << marked.story();
  EXPECT_GT(server[0], 20) << "notifications sent";
  EXPECT_GT(server[1], server[0]) << "marks of which some came within 4 us";
  EXPECT_EQ(client[2], server[0]) << "each is handled";
  EXPECT_EQ(client[3], 0);
  EXPECT_GT(marked.virtual_ms(), free.virtual_ms() + 1) << "39 MB take 3.3 ms at 100 Gb/s";
}

// The responder of READs is who sends: its queue pair is notified, and slows down.
TEST(CongestionOfPrograms, marked_read_responses_slow_the_responder_down) {
  const support::TemporaryFolder folder;
  const std::string program = "ib_read_bw -x 1 -s 65536 -n 500";
  const auto run = support::run(
      {.topology = write_topology(folder.path(), "dcqcn-nv"),
       .commands = {"server=sh -c '" + program + "; " + kCounters + "'", "client=sh -c '" + program + " server; " + kCounters + "'"},
       .options = {"--fault", R"({"action": "mark", "from": "server", "nth": 100, "every": 7, "count": 0})"}});
  ASSERT_EQ(run.code, 0) << run.story();
  const auto server = counters_of(run.output("server")), client = counters_of(run.output("client"));
  ASSERT_EQ(server.size(), 4u) << run.story();
  ASSERT_EQ(client.size(), 4u) << run.story();
  EXPECT_GT(client[0], 20) << "the requester is the notification point";
  EXPECT_EQ(server[2], client[0]);
}

// Whatever the mode and the seed, a second time.
TEST(CongestionOfPrograms, is_repeated_to_the_bit) {
  const support::TemporaryFolder folder;
  for (const char* controller : {"dcqcn-nv", "dcqcn-paper", "dcqcn-ns3"}) {
    support::RunRequest request = transfer(write_topology(folder.path(), controller), true);
    request.options.push_back("--verify");
    const auto run = support::run(request);
    EXPECT_EQ(run.code, 0) << controller << run.story();
  }
}

// Values of `ethtool -S`, or of lines "name: value", by name.
std::map<std::string, long> statistics_of(const std::string& output) {
  std::map<std::string, long> values;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    const std::size_t begin = line.find_first_not_of(' '), colon = line.find(": ");
    if (begin == std::string::npos || colon == std::string::npos) continue;
    values[line.substr(begin, colon - begin)] = std::strtol(line.c_str() + colon + 2, nullptr, 10);
  }
  return values;
}

// Two senders begin at about 200 ms and fill the link to a third host, so that the switch pauses them.
TEST(CongestionOfPrograms, ethtool_shows_pauses_and_packets_by_priority) {
  if (!std::filesystem::exists("/usr/sbin/ethtool")) GTEST_SKIP() << "ethtool is not installed";
  const std::string program = "ib_write_bw -x 1 -s 65536 -n 600 -p ", show = "/usr/sbin/ethtool -i eth0; /usr/sbin/ethtool -S eth0";
  support::RunRequest request;
  request.topology = support::topology("star_5_roce");
  request.commands = {"h0=sh -c '" + program + "1001 & " + program + "1002 ; wait; " + show + "'",
                      "h1=sh -c 'sleep 0.1; " + program + "1001 h0; " + show + "'", "h2=sh -c '" + program + "1002 h0; " + show + "'"};
  const equality::BothModes runs = equality::run_both(request);
  equality::expect_equal(runs);
  const support::RunReport& run = runs.slices;
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_NE(run.output("h1").find("driver: mlx5_core\n"), std::string::npos) << run.story();
  EXPECT_NE(run.output("h1").find("bus-info: 0000:01:00.0\n"), std::string::npos) << run.story();
  auto receiver = statistics_of(run.output("h0")), sender = statistics_of(run.output("h1"));
  EXPECT_GT(sender["rx_prio0_pause"], 0) << run.story();
  EXPECT_GT(sender["rx_prio0_pause_duration"], 0);
  EXPECT_GT(sender["rx_prio0_pause_transition"], 0);
  EXPECT_LE(sender["rx_prio0_pause_transition"], sender["rx_prio0_pause"]);
  EXPECT_EQ(sender["tx_prio0_pause"], 0);
  EXPECT_EQ(sender["rx_prio3_pause"], 0);
  EXPECT_GT(sender["tx_prio0_bytes"], 600 * 65536);
  EXPECT_GT(receiver["rx_prio0_bytes"], 2 * 600 * 65536);
  EXPECT_EQ(receiver["rx_bytes_phy"], receiver["rx_prio0_bytes"] + receiver["rx_prio6_bytes"]);
  EXPECT_EQ(receiver["rx_discards_phy"], 0);
  // The number of the switch's pauses equals that in run.json.
  for (const auto& port : run.report["ports"]) {
    if (port["port"] != "port/leaf0:2") continue;
    EXPECT_EQ(port["lanes"][0]["pauses"], sender["rx_prio0_pause_transition"]);
    EXPECT_NEAR(port["lanes"][0]["paused_ps"].get<double>() / 1e6, static_cast<double>(sender["rx_prio0_pause_duration"]), 1.5);
  }
}

// A lost packet makes both sides count, and nothing of it is congestion.
TEST(CongestionOfPrograms, a_lost_packet_is_in_hw_counters) {
  const std::string show = "cd /sys/class/infiniband/mlx5_0/ports/1/hw_counters; for f in *; do echo $f: $(cat $f); done";
  support::RunRequest request;
  request.topology = support::topology("two_hosts");
  request.commands = {"server=sh -c 'ibv_rc_pingpong -n 20; " + show + "'", "client=sh -c 'ibv_rc_pingpong -n 20 server; " + show + "'"};
  request.options = {"--fault", R"({"action": "drop", "from": "client", "opcode": "Send Middle", "nth": 3})"};
  const support::RunReport run = support::run(request);
  ASSERT_EQ(run.code, 0) << run.story();
  auto server = statistics_of(run.output("server")), client = statistics_of(run.output("client"));
  EXPECT_GE(server["out_of_sequence"], 1) << run.story();
  EXPECT_EQ(client["packet_seq_err"], 1) << "a gap is reported once";
  EXPECT_EQ(client["local_ack_timeout_err"], 0);
  EXPECT_EQ(client["req_cqe_error"], 0);
  EXPECT_EQ(server["packet_seq_err"], 0);
  EXPECT_EQ(server.count("np_cnp_sent"), 0u) << "InfiniBand has no notification points";
  request.options = {"--fault", R"({"action": "drop", "from": "client", "opcode": "Send Last", "nth": 20})"};
  const support::RunReport tail = support::run(request);
  ASSERT_EQ(tail.code, 0) << tail.story();
  client = statistics_of(tail.output("client"));
  EXPECT_EQ(client["local_ack_timeout_err"], 1) << tail.story();
  EXPECT_EQ(client["packet_seq_err"], 0);
}

TEST(CongestionOfPrograms, explain_latency_names_the_rate_limit) {
  const support::TemporaryFolder folder;
  support::RunRequest request = transfer(write_topology(folder.path(), "dcqcn-nv"), true);
  const std::string tables = folder.path() + "/tables.txt";
  request.options.push_back("--explain-latency=" + tables);
  const auto run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_NE(support::text_of_file(tables).find("queue pair: rate limit"), std::string::npos) << run.story();
}

}  // namespace
}  // namespace verbatim

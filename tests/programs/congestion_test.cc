// Real programs over Ethernet between adapters with DCQCN: marked packets slow them down, and counters say so.
#include <gtest/gtest.h>

#include <fstream>
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

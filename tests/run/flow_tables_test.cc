// Tables of a run's flows and links (`--flows`, `--links`): their sums equal the run's counters, and they
// change nothing.
#include <gmock/gmock.h>

#include <map>
#include <sstream>

#include "tests/run/flow_scenario.h"

namespace verbatim {
namespace {

using run_tests::kFlow, run_tests::Scenario;
using support::RunReport;
using ::testing::HasSubstr;

// Table and rows agree; a flow without competing traffic takes its ideal time, and four of equal size to one
// host take four times that.
TEST(FlowTables, have_their_ideal_time_and_their_slowdown) {
  const support::TemporaryFolder folder;
  const std::string table = folder.path() + "/flows.csv";
  const RunReport alone = Scenario(R"("flows": [)" + kFlow + "]").run();
  EXPECT_GE(alone.report["flows"][0]["slowdown"], 1.0);
  EXPECT_LT(alone.report["flows"][0]["slowdown"], 1.002) << alone.report["flows"][0];
  const RunReport result = support::run({.scenario = VERBATIM_SOURCE_DIR "/scenarios/incast.json", .options = {"--flows", table}});
  ASSERT_EQ(result.code, 0) << result.story();
  std::istringstream lines(support::text_of_file(table));
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("flow,workload,from,to,operation,bytes,start_ps,finish_ps,acknowledged,mbps,status,ideal_ps,slowdown,"));
  double most = 0;
  for (const auto& flow : result.report["flows"]) {
    const auto took = flow["finish_ps"].get<std::int64_t>() - flow["start_ps"].get<std::int64_t>();
    const auto ideal = flow["ideal_ps"].get<std::int64_t>();
    EXPECT_GT(ideal, (8 << 20) * 80) << "8 MiB at 100 Gbps";
    EXPECT_EQ(flow["slowdown"], static_cast<double>(took * 1000 / ideal) / 1000);
    most = std::max(most, flow["slowdown"].get<double>());
    std::getline(lines, line);
    const std::string has = "," + std::to_string(ideal) + "," + flow["slowdown"].dump();
    EXPECT_THAT(line, ::testing::ContainsRegex(has + "0*,"));
  }
  EXPECT_GT(most, 3.0);
  const auto& all = result.report["flow_times"].back();
  EXPECT_EQ(all["most_slowdown"], most);
  EXPECT_LE(all["p50_slowdown"], all["p95_slowdown"]);
  EXPECT_LE(all["p95_slowdown"], all["p99_slowdown"]);
}

// Rows of a table by title.
std::vector<std::map<std::string, std::string>> rows_of(const std::string& table) {
  const auto cells = [](const std::string& line) {
    std::vector<std::string> all;
    std::istringstream text(line + ",");
    for (std::string cell; std::getline(text, cell, ',');) all.push_back(cell);
    return all;
  };
  std::istringstream lines(support::text_of_file(table));
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> titles = cells(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(lines, line)) {
    const std::vector<std::string> values = cells(line);
    EXPECT_EQ(values.size(), titles.size()) << line;
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < std::min(values.size(), titles.size()); ++i) row[titles[i]] = values[i];
  }
  return rows;
}

std::int64_t sum_of_column(const std::vector<std::map<std::string, std::string>>& rows, const std::string& title) {
  std::int64_t sum = 0;
  for (const auto& row : rows) sum += std::stoll(row.at(title));
  return sum;
}

// Sums over flows and links equal the run's counters, and counting changes nothing.
TEST(FlowTables, tables_of_flows_and_links_agree_with_the_run) {
  const support::TemporaryFolder folder;
  const std::string flows = folder.path() + "/flows.csv", links = folder.path() + "/links.csv";
  const support::RunRequest plain{.scenario = VERBATIM_SOURCE_DIR "/scenarios/incast.json"};
  support::RunRequest watched = plain;
  watched.options = {"--flows", flows, "--links", links};
  const RunReport result = support::run(watched);
  ASSERT_EQ(result.code, 0) << result.story();
  EXPECT_EQ(result.digest(), support::run(plain).digest());
  const auto& congestion = result.report["congestion"];
  const auto of_flows = rows_of(flows), of_links = rows_of(links);
  ASSERT_EQ(of_flows.size(), 4u);
  EXPECT_EQ(sum_of_column(of_flows, "marked"), congestion["packets_marked"]);
  std::int64_t notified = 0;
  for (const auto& adapter : result.report["congestion_counters"])
    notified += adapter["rp_cnp_handled"].get<std::int64_t>() + adapter["rp_cnp_ignored"].get<std::int64_t>();
  EXPECT_GT(notified, 0);
  EXPECT_EQ(sum_of_column(of_flows, "notified"), notified);
  EXPECT_EQ(sum_of_column(of_flows, "sent_again"), 0);
  for (const auto& flow : of_flows) {
    EXPECT_EQ(flow.at("path"), "leaf0");
    EXPECT_GT(std::stoll(flow.at("held_ps")), 0) << "its port was paused";
  }
  EXPECT_LE(sum_of_column(of_flows, "held_ps"), congestion["paused_ps"]) << "there was not always something to send";
  EXPECT_EQ(result.report["flows"][0]["marked"], std::stoll(of_flows[0].at("marked")));
  EXPECT_EQ(result.report["flows"][0]["path"], "leaf0");

  ASSERT_EQ(of_links.size(), 10u) << "five cables";
  EXPECT_EQ(sum_of_column(of_links, "marked"), congestion["packets_marked"]);
  EXPECT_EQ(sum_of_column(of_links, "paused_ps"), congestion["paused_ps"]);
  EXPECT_EQ(sum_of_column(of_links, "dropped"), 0);
  EXPECT_EQ(sum_of_column(of_links, "packets"), result.report["packet_hops"]);
  for (const auto& link : of_links) {
    const bool is_hot = link.at("from") == "leaf0:1";
    if (is_hot) {
      EXPECT_EQ(link.at("to"), "h0:1");
    }
    EXPECT_EQ(std::stoll(link.at("marked")) > 0, is_hot);
    EXPECT_EQ(std::stod(link.at("utilisation")) > 0.5, is_hot) << link.at("from");
    EXPECT_EQ(std::stoll(link.at("longest_queue_bytes")) > 100'000, is_hot) << link.at("from");
    EXPECT_EQ(link.at("bits_per_second"), "100000000000");
  }
}

TEST(FlowTables, what_is_lost_and_sent_again_is_in_their_tables) {
  const support::TemporaryFolder folder;
  const std::string flows = folder.path() + "/flows.csv", links = folder.path() + "/links.csv";
  const RunReport result =
      Scenario(R"("faults": [{"action": "drop", "from": "server", "nth": 20, "every": 100, "count": 5}], "flows": [)" + kFlow + "]")
          .run({"--flows", flows, "--links", links});
  ASSERT_EQ(result.code, 0) << result.story();
  EXPECT_GT(result.report["losses"]["packets_sent_again"], 0);
  EXPECT_EQ(sum_of_column(rows_of(flows), "sent_again"), result.report["losses"]["packets_sent_again"]);
  for (const auto& link : rows_of(links)) EXPECT_EQ(link.at("dropped"), link.at("from") == "server:1" ? "5" : "0") << link.at("from");
}

// The switch drops packets to a host whose cable has failed. They arrived from the sender, and left by no output.
TEST(FlowTables, what_a_switch_drops_for_a_failed_output_was_lost_behind_the_cable_that_it_came_by) {
  const support::TemporaryFolder folder;
  const std::string links = folder.path() + "/links.csv";
  const RunReport result = Scenario(R"("faults": [{"action": "link_down", "link": "client", "at": "50 us"}], "flows": [)" + kFlow + "]")
                               .run({"--links", links});
  ASSERT_EQ(result.code, 1) << result.story();
  std::map<std::string, int> dropped;
  for (const auto& link : rows_of(links)) dropped[link.at("from") + "," + link.at("to")] = std::stoi(link.at("dropped"));
  EXPECT_GT(dropped.at("server:1,leaf0:1"), 100);
  EXPECT_EQ(dropped.at("leaf0:1,server:1"), 0);
}

// A flow with several queue pairs uses several paths on Ethernet, as its trace shows.
TEST(FlowTables, have_the_paths_that_their_packets_took) {
  const support::TemporaryFolder folder;
  const std::string flows = folder.path() + "/flows.csv", trace = folder.path() + "/trace.txt";
  const Scenario scenario(R"("flows": [{"from": "h0", "to": "h15", "bytes": "64 KiB"},
                                       {"from": "h0", "to": "h15", "bytes": "1 MiB", "message_size": "4 KiB", "queue_pairs": 16},
                                       {"from": "h1", "to": "h0", "bytes": "1 KiB"}])",
                          support::topology("leaf_spine_16_roce"));
  const RunReport result = scenario.run({"--flows", flows, "--trace", trace});
  ASSERT_EQ(result.code, 0) << result.story();
  const auto rows = rows_of(flows);
  EXPECT_THAT(rows[0].at("path"), ::testing::MatchesRegex("leaf0>spine[01]>leaf3"));
  EXPECT_EQ(rows[1].at("path"), "leaf0>spine0|spine1>leaf3");
  EXPECT_EQ(rows[2].at("path"), "leaf0");
}

// Packets that are sprayed cross all spines; the first and the last one are named, and their number.
TEST(FlowTables, paths_over_many_switches_are_short) {
  const support::TemporaryFolder folder;
  const std::string flows = folder.path() + "/flows.csv", fabric = folder.path() + "/t.json";
  std::ofstream(fabric) << R"({"name": "t", "link_layer": "roce", "load_balancing": {"by": "packet", "grade": "0 B"},
      "generate": {"shape": "leaf_spine", "hosts": 4, "hosts_per_leaf": 2, "spines": 10, "rate": "100 Gbps", "hca": "connectx5"}})";
  const RunReport result = Scenario(R"("flows": [{"from": "h0", "to": "h2", "bytes": "1 MiB"}])", fabric).run({"--flows", flows});
  ASSERT_EQ(result.code, 0) << result.story();
  EXPECT_EQ(rows_of(flows).at(0).at("path"), "leaf0>spine0|...|spine9 (10)>leaf1");
}

// The destination host requests the bytes: its packets are READ requests. The slowdown is 1 in either
// direction.
TEST(FlowTables, that_read_are_asked_for_by_the_receiver) {
  const support::TemporaryFolder folder;
  const std::string flows = folder.path() + "/flows.csv", links = folder.path() + "/links.csv";
  const RunReport result = Scenario(R"("flows": [{"from": "server", "to": "client", "bytes": "1 MiB", "operation": "read"}])")
                               .run({"--flows", flows, "--links", links});
  ASSERT_EQ(result.code, 0) << result.story();
  const auto rows = rows_of(flows);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at("from"), "server");
  EXPECT_EQ(rows[0].at("operation"), "read");
  EXPECT_EQ(rows[0].at("acknowledged"), std::to_string(1 << 20));
  EXPECT_LT(std::stod(rows[0].at("slowdown")), 1.02);
  for (const auto& link : rows_of(links)) {
    if (link.at("from") == "client:1") {
      EXPECT_EQ(link.at("packets"), "1");
    }
    if (link.at("from") == "server:1") {
      EXPECT_EQ(link.at("packets"), "256");
    }
  }
  const RunReport of_collective =
      Scenario(R"("workloads": [{"pattern": "all-reduce", "size": "1 MiB", "operation": "read"}])").run();
  EXPECT_EQ(of_collective.code, 2) << of_collective.story();
  EXPECT_THAT(of_collective.err, HasSubstr("/workloads/0/operation: messages of the pattern \"all-reduce\" are not read"));
}

// Hexadecimal addresses, ports, bytes, and three times in nanoseconds, in the order of the flows' ends.
TEST(FlowTables, are_written_as_hpcc_does) {
  const support::TemporaryFolder folder;
  const std::string list = folder.path() + "/flow.txt", table = folder.path() + "/fct.txt";
  std::ofstream(list) << "3\n0 1 3 200 1000000 0.000001\n1 0 3 100 5000 0.000002\n0 1 3 200 1000 0.000200\n";
  const RunReport result =
      Scenario(R"("workloads": [{"file": ")" + list + R"("}])").run({"--flows", table, "--flows-form", "fct"});
  ASSERT_EQ(result.code, 0) << result.story();
  std::istringstream lines(support::text_of_file(table));
  for (const auto& [flow, begin] : {std::pair(1, "0a000002 0a000001 10000 100 5000 2000 "),
                                    std::pair(0, "0a000001 0a000002 10000 200 1000000 1000 "),
                                    std::pair(2, "0a000001 0a000002 10001 200 1000 200000 ")}) {
    const auto& of = result.report["flows"][flow];
    const auto time = (of["finish_ps"].get<std::int64_t>() - of["start_ps"].get<std::int64_t>()) / 1000;
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, begin + std::to_string(time) + " " + std::to_string(of["ideal_ps"].get<std::int64_t>() / 1000));
  }
  std::string rest;
  EXPECT_FALSE(std::getline(lines, rest)) << rest;
}

}  // namespace
}  // namespace verbatim

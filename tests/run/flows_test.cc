// Runs with flows: alone, with programs, and with failures.
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <sstream>

#include "tests/run/flow_scenario.h"

namespace verbatim {
namespace {

using run_tests::kFlow, run_tests::Scenario;
using support::RunReport;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kPingPong = R"("programs": [{"host": "server", "command": "ibv_rc_pingpong -n 100"},
                                              {"host": "client", "command": "ibv_rc_pingpong -n 100 server", "start": "1 ms"}])";

TEST(Flows, alone_they_run_and_are_reported) {
  const Scenario scenario(R"("flows": [)" + kFlow + R"(, {"from": "client", "to": "server", "bytes": "1 MiB", "start": "50 us", "operation": "send"}])");
  const RunReport result = scenario.run();
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_EQ(result.report["outcome"], "finished");
  const auto& flows = result.report["flows"];
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0]["from"], "server");
  EXPECT_EQ(flows[0]["to"], "client");
  EXPECT_EQ(flows[0]["bytes"], 10 << 20);
  EXPECT_EQ(flows[0]["acknowledged"], 10 << 20);
  EXPECT_EQ(flows[0]["start_ps"], 0);
  EXPECT_EQ(flows[0]["status"], "IBV_WC_SUCCESS");
  EXPECT_EQ(flows[1]["start_ps"], 50'000'000);
  EXPECT_EQ(flows[1]["operation"], "send");
  EXPECT_GT(flows[1]["finish_ps"], 50'000'000);
  EXPECT_EQ(result.report["virtual_time_ps"], flows[0]["finish_ps"]) << "the run ends with its last flow";
  EXPECT_THAT(result.out, HasSubstr("flow 0, server to client: 10 MiB in "));
  EXPECT_THAT(result.out, HasSubstr(" Gbps, from 50.000 us to "));
  EXPECT_THAT(result.err, Not(HasSubstr("warning"))) << "no memory is written, so nothing can race";
}

// Four senders, one receiver, a switch that marks and pauses: nothing is lost, and the run reports marks and
// pauses.
TEST(Flows, an_incast_is_marked_paused_and_slowed_down_and_loses_nothing) {
  const RunReport result = support::run({.scenario = VERBATIM_SOURCE_DIR "/scenarios/incast.json", .options = {"--verify"}});
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_THAT(result.err, HasSubstr("both runs have the same trace"));
  EXPECT_EQ(result.report["losses"]["packets_dropped"], 0);
  const auto& congestion = result.report["congestion"];
  EXPECT_GT(congestion["pauses"], 0);
  EXPECT_GT(congestion["packets_marked"], 100);
  EXPECT_EQ(congestion["most_marking_port"]["port"], "port/leaf0:1") << "which leads to h0";
  EXPECT_GT(congestion["rate_changes"], 10);
  EXPECT_LT(congestion["lowest_rate"]["mbps"], 50'000);
  EXPECT_THAT(result.err, HasSubstr(" packets marked, most by leaf0:1; "));
}

// The queue of port 1, towards h0, grows, and the switch pauses the senders. h0 has sent the notifications.
TEST(Flows, an_incast_leaves_figures_of_ports_adapters_and_times) {
  const RunReport result = support::run({.scenario = VERBATIM_SOURCE_DIR "/scenarios/incast.json"});
  ASSERT_EQ(result.code, 0) << result.story();
  std::map<std::string, nlohmann::json> ports;
  for (const auto& port : result.report["ports"]) ports[port["port"].get<std::string>()] = port["lanes"];
  ASSERT_EQ(ports.count("port/leaf0:1"), 1u);
  const auto& queue = ports["port/leaf0:1"][0];
  EXPECT_EQ(queue["packets_marked"], result.report["congestion"]["packets_marked"]);
  EXPECT_GT(queue["deepest_queue_bytes"], 100'000);
  EXPECT_FALSE(queue.contains("pauses"));
  std::uint64_t pauses = 0;
  std::int64_t paused_ps = 0;
  for (const std::string sender : {"port/leaf0:2", "port/leaf0:3", "port/leaf0:4", "port/leaf0:5"}) {
    ASSERT_EQ(ports.count(sender), 1u) << sender;
    const auto& lane = ports[sender][0];
    EXPECT_GE(lane["paused_ps"], lane["longest_pause_ps"]);
    pauses += lane["pauses"].get<std::uint64_t>();
    paused_ps += lane["paused_ps"].get<std::int64_t>();
  }
  EXPECT_EQ(pauses, result.report["congestion"]["pauses"]);
  EXPECT_EQ(paused_ps, result.report["congestion"]["paused_ps"]);
  const auto& counters = result.report["congestion_counters"];
  ASSERT_EQ(counters.size(), 5u) << "hosts without programs are there, too";
  std::uint64_t handled = 0;
  for (const auto& adapter : counters) {
    handled += adapter["rp_cnp_handled"].get<std::uint64_t>();
    EXPECT_EQ(adapter["np_cnp_sent"] > 0, adapter["adapter"] == "hca/h0") << adapter;
    if (adapter["adapter"] != "hca/h0") continue;
    EXPECT_EQ(adapter["np_ecn_marked_roce_packets"], result.report["congestion"]["packets_marked"]);
  }
  EXPECT_GT(handled, 0u);
  const auto& times = result.report["flow_times"];
  ASSERT_EQ(times.size(), 2u) << "8 MiB, and all";
  EXPECT_EQ(times[0]["bytes"], 8 << 20);
  EXPECT_EQ(times[1]["bytes"], "any");
  EXPECT_EQ(times[1]["finished"], 4);
  EXPECT_LE(times[1]["p50_ps"], times[1]["p99_ps"]);
  std::int64_t longest = 0, sum = 0;
  for (const auto& flow : result.report["flows"]) {
    const auto took = flow["finish_ps"].get<std::int64_t>() - flow["start_ps"].get<std::int64_t>();
    sum += took;
    EXPECT_EQ(flow["mbps"], (8ll << 20) * 8 * 1'000'000 / took);
    longest = std::max(longest, took);
  }
  EXPECT_EQ(times[1]["longest_ps"], longest);
  EXPECT_EQ(times[1]["mean_ps"], sum / 4);
}

// Values of a series file by quantity, component and number, in the order of time.
using Values = std::map<std::string, std::vector<std::pair<double, double>>>;
Values values_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "time_us,what,where,number,value");
  Values values;
  while (std::getline(file, line)) {
    const std::size_t first = line.find(','), last = line.rfind(',');
    values[line.substr(first + 1, last - first - 1)].emplace_back(std::stod(line), std::stod(line.substr(last + 1)));
  }
  return values;
}

double sum_of(const std::vector<std::pair<double, double>>& values) {
  double sum = 0;
  for (const auto& [time, value] : values) sum += value;
  return sum;
}

// With any interval length the file contains all marks and the greatest depth; two runs have the same bytes.
TEST(Flows, series_lose_no_mark_and_no_peak_and_repeat) {
  const support::TemporaryFolder folder;
  const std::string scenario = VERBATIM_SOURCE_DIR "/scenarios/incast.json";
  for (const std::string step : {"10us", "1ms", "change"}) {
    SCOPED_TRACE(step);
    const std::string file = folder.path() + "/series.csv";
    const RunReport result = support::run({.scenario = scenario, .options = {"--series", file, "--series-step", step}});
    ASSERT_EQ(result.code, 0) << result.story();
    Values values = values_of(file);
    EXPECT_EQ(sum_of(values["marks,port/leaf0:1,0"]), result.report["congestion"]["packets_marked"].get<double>());
    const auto& queue = values[step == "change" ? "queue_bytes,port/leaf0:1,0" : "queue_bytes_most,port/leaf0:1,0"];
    double deepest = 0;
    for (const auto& [time, value] : queue) deepest = std::max(deepest, value);
    std::map<std::string, nlohmann::json> ports;
    for (const auto& port : result.report["ports"]) ports[port["port"].get<std::string>()] = port["lanes"];
    EXPECT_EQ(deepest, ports["port/leaf0:1"][0]["deepest_queue_bytes"].get<double>());
    EXPECT_GT(values[step == "change" ? "rate_mbps,hca/h1,72" : "rate_mbps_least,hca/h1,72"].size(), 1u);
  }
  const std::string first = folder.path() + "/1.csv", second = folder.path() + "/2.csv";
  for (const std::string& file : {first, second}) support::run({.scenario = scenario, .options = {"--series", file}});
  EXPECT_EQ(support::text_of_file(first), support::text_of_file(second));
  EXPECT_GT(support::text_of_file(first).size(), 10'000u);
}

TEST(Flows, a_series_of_a_pause_has_its_time) {
  const support::TemporaryFolder folder;
  const std::string file = folder.path() + "/series.csv";
  const RunReport result =
      support::run({.scenario = VERBATIM_SOURCE_DIR "/scenarios/incast.json", .options = {"--series", file, "--series-step", "change"}});
  double paused_us = 0;
  for (const auto& [series, values] : values_of(file)) {
    if (!series.starts_with("pausing,")) continue;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) paused_us += values[i + 1].first - values[i].first;
  }
  EXPECT_NEAR(paused_us, result.report["congestion"]["paused_ps"].get<double>() / 1e6, 0.01);
}

TEST(Flows, impossible_series_start_nothing) {
  const RunReport folder = Scenario(R"("flows": [)" + kFlow + "]").run({"--series", "/nowhere/series.csv"});
  EXPECT_EQ(folder.code, 2) << folder.story();
  EXPECT_THAT(folder.err, HasSubstr("--series: "));
  const RunReport step = Scenario(R"("flows": [)" + kFlow + "]").run({"--series", "/dev/null", "--series-step", "10"});
  EXPECT_EQ(step.code, 2) << step.story();
  EXPECT_THAT(step.err, HasSubstr("--series-step: "));
  const RunReport alone = Scenario(R"("flows": [)" + kFlow + "]").run({"--series-step", "10us"});
  EXPECT_EQ(alone.code, 2) << alone.story();
  EXPECT_THAT(alone.err, HasSubstr("--series-step: needs --series"));
  const RunReport full = Scenario(R"("flows": [)" + kFlow + "]").run({"--series", "/dev/full"});
  EXPECT_EQ(full.code, 1) << full.story();
  EXPECT_THAT(full.err, HasSubstr("No space left on device"));
}

// 24 flows of three sizes are shown as a table; failed flows are still listed.
TEST(Flows, many_are_shown_as_percentiles_by_size) {
  std::string flows;
  for (int i = 0; i < 24; ++i) {
    const std::string size = i % 3 == 0 ? "1 KiB" : i % 3 == 1 ? "64 KiB" : "1 MiB";
    flows += std::string(i == 0 ? "" : ", ") + R"({"from": "server", "to": "client", "bytes": ")" + size + R"("})";
  }
  const RunReport result = Scenario(R"("flows": [)" + flows + "]").run();
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_THAT(result.out, Not(HasSubstr("flow 0,")));
  std::istringstream lines(result.out);
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  ASSERT_EQ(all.size(), 5u) << result.out;
  EXPECT_THAT(all[0], HasSubstr("p50"));
  EXPECT_THAT(all[0], HasSubstr("p99 slowdown"));
  EXPECT_TRUE(all[1].starts_with("1 KiB "));
  EXPECT_TRUE(all[2].starts_with("64 KiB "));
  EXPECT_TRUE(all[3].starts_with("1 MiB "));
  EXPECT_TRUE(all[4].starts_with("any size "));
  EXPECT_THAT(all[4], HasSubstr(" 24 "));
  const auto& rows = result.report["flow_times"];
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1]["flows"], 8);
  EXPECT_EQ(rows[1]["is_exact"], true);
  EXPECT_LT(rows[0]["p50_ps"], rows[2]["p50_ps"]);
}

// Switch ports of the senders.
TEST(Flows, a_message_waits_for_the_port_that_pauses_its_sender) {
  const support::TemporaryFolder folder;
  const std::string tables = folder.path() + "/latency.txt", trace = folder.path() + "/trace.txt";
  const RunReport result = support::run({.scenario = VERBATIM_SOURCE_DIR "/scenarios/incast.json",
                                         .options = {"--explain-latency=" + tables, "--trace", trace}});
  ASSERT_EQ(result.code, 0) << result.story();
  EXPECT_THAT(support::text_of_file(tables), HasSubstr("output: paused by the far end"));
  std::istringstream lines(support::text_of_file(trace));
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("paused by the far end") != std::string::npos) found += line + "\n";
  }
  EXPECT_THAT(found, ::testing::ContainsRegex(
                         "where=port/h[1-4]:1 part=.output: paused by the far end, whose shared buffer is full. for=port/leaf0:[2-5]"));
}

// A cable between switches fails during a flow: packets are lost there until the switches have new routes.
TEST(Flows, a_message_that_waits_for_new_routes_names_the_dead_link) {
  for (const std::string layer : {"infiniband", "roce"}) {
    const support::TemporaryFolder folder;
    std::ofstream(folder.path() + "/t.json")
        << R"({"name": "t", "link_layer": ")" << layer << R"(", "generate": {"shape": "leaf_spine", "hosts": 8, "hosts_per_leaf": 4, "spines": 2,
              "rate": ")" << (layer == "roce" ? "100 Gbps" : "EDR") << R"("}})";
    std::ofstream(folder.path() + "/s.json")
        << R"({"topology": "t.json", "flows": [{"from": "h0", "to": "h4", "bytes": "4 MiB"}, {"from": "h1", "to": "h5", "bytes": "4 MiB"},
              {"from": "h2", "to": "h6", "bytes": "4 MiB"}, {"from": "h3", "to": "h7", "bytes": "4 MiB"}],
              "faults": [{"action": "link_down", "link": "leaf0:5", "at": "100 us"}]})";
    const std::string tables = folder.path() + "/latency.txt";
    const RunReport result = support::run({.scenario = folder.path() + "/s.json", .options = {"--explain-latency=" + tables}});
    ASSERT_EQ(result.code, 0) << result.story();
    EXPECT_THAT(support::text_of_file(tables), ::testing::ContainsRegex("lost on a dead link: timeout, port/(leaf0:5|spine0:1)"))
        << layer;
    EXPECT_GT(result.report["congestion"]["route_changes"], 0) << layer;
    EXPECT_THAT(result.err, ::testing::ContainsRegex("congestion: [0-9]+ changes? of routes")) << layer;
  }
}

TEST(Flows, without_congestion_nothing_is_said_of_it) {
  const RunReport result = Scenario(R"("flows": [)" + kFlow + "]").run();
  EXPECT_FALSE(result.report.contains("congestion"));
  EXPECT_FALSE(result.report.contains("congestion_counters"));
  EXPECT_THAT(result.err, Not(HasSubstr("congestion")));
}

TEST(Flows, the_same_run_twice_has_the_same_trace) {
  const RunReport result = Scenario(R"("flows": [)" + kFlow + "]").run({"--verify"});
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_THAT(result.err, HasSubstr("both runs have the same trace"));
}

// The ping-pong shares cables with the flow and ends independently.
TEST(Flows, beside_programs_both_modes_agree_and_the_run_waits_for_the_flows) {
  const std::string small = R"({"from": "server", "to": "client", "bytes": "300 KiB", "start": "1500 us", "queue_pairs": 2})";
  const std::string long_one = R"({"from": "client", "to": "server", "bytes": "20 MiB", "start": "1600 us"})";
  std::vector<std::int64_t> ends;
  for (const std::string& flows : {std::string(), small, small + ", " + long_one}) {
    SCOPED_TRACE(flows);
    const Scenario scenario(kPingPong + R"(, "flows": [)" + flows + "]");
    const RunReport slices = scenario.run(), call_by_call = scenario.run({"--call-by-call"});
    EXPECT_EQ(slices.code, 0) << slices.story();
    EXPECT_EQ(call_by_call.code, 0) << call_by_call.story();
    EXPECT_EQ(slices.digest(), call_by_call.digest());
    std::int64_t last = 0;
    for (const auto& program : slices.report["programs"]) last = std::max(last, program["ended_ps"].get<std::int64_t>());
    ends.push_back(last);
    if (flows.empty()) continue;
    for (const auto& flow : slices.report["flows"]) {
      EXPECT_EQ(flow["acknowledged"], flow["bytes"]);
      last = std::max(last, flow["finish_ps"].get<std::int64_t>());
    }
    EXPECT_EQ(slices.report["virtual_time_ps"], last);
  }
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_GT(ends[1], ends[0]) << "a flow on the same link delays the programs";
  EXPECT_GT(ends[2], ends[1]);
}

// No program waits for the endless flows: the time limit ends the run.
TEST(Flows, in_the_background_alone_last_until_the_limit) {
  const RunReport result = Scenario(R"("workloads": [{"pattern": "shift"}], "until": "100 us")").run();
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_EQ(result.report["virtual_time_ps"], 100'000'000);
  for (const auto& flow : result.report["flows"]) EXPECT_GT(flow["acknowledged"], 800'000) << flow;
}

// Flows arrive as long as a program runs or as long as `until` says.
TEST(Flows, of_a_load_without_end_arrive_until_the_run_ends) {
  const std::string load = R"("workloads": [{"pattern": "random", "load": 0.3, "size": "20 KiB"}])";
  const RunReport result = Scenario(load + R"(, "until": "1 ms")").run({"--verify"});
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_THAT(result.err, HasSubstr("both runs have the same trace"));
  const auto& workload = result.report["workloads"][0];
  // 30 % of 100 Gbps for 1 ms at two hosts: 183 flows of 20 KiB each.
  EXPECT_NEAR(workload["flows"].get<double>(), 2 * 183, 70);
  EXPECT_GT(workload["finished"].get<int>(), workload["flows"].get<int>() - 10);
  const RunReport drawn =
      Scenario(R"("workloads": [{"pattern": "random", "load": 0.3, "size": "20 KiB", "duration": "1 ms"}])").run();
  ASSERT_EQ(drawn.report["flows"].size(), result.report["flows"].size());
  for (std::size_t i = 0; i < drawn.report["flows"].size(); ++i) {
    for (const char* const key : {"from", "to", "bytes", "start_ps"})
      EXPECT_EQ(drawn.report["flows"][i][key], result.report["flows"][i][key]) << i;
  }
  const Scenario beside(kPingPong + ", " + load);
  const RunReport slices = beside.run(), call_by_call = beside.run({"--call-by-call"});
  EXPECT_EQ(slices.code, 0) << slices.story();
  EXPECT_EQ(slices.digest(), call_by_call.digest());
  EXPECT_GT(slices.report["workloads"][0]["flows"], 300);
}

TEST(Flows, a_deadlock_of_programs_is_found_when_the_flows_are_done) {
  const RunReport result = Scenario(R"("programs": [{"host": "server", "command": "ibv_rc_pingpong"}], "flows": [)" + kFlow + "]").run();
  EXPECT_EQ(result.code, 3) << result.story();
  EXPECT_EQ(result.report["outcome"], "deadlock");
  EXPECT_EQ(result.report["flows"][0]["acknowledged"], 10 << 20);
  EXPECT_THAT(result.err, HasSubstr("waits in accept"));
}

TEST(Flows, a_limit_ends_them_and_says_how_far_they_are) {
  const RunReport result = Scenario(R"("time_limit": "500 us", "flows": [)" + kFlow + "]").run();
  EXPECT_EQ(result.code, 4) << result.story();
  EXPECT_EQ(result.report["outcome"], "time-limit");
  EXPECT_EQ(result.report["virtual_time_ps"], 500'000'000);
  EXPECT_TRUE(result.report["flows"][0]["finish_ps"].is_null());
  EXPECT_THAT(result.err, HasSubstr("; the next lines say which flows are not finished"));
  EXPECT_THAT(result.err, HasSubstr("flow 0, server to client is not finished: 5 MiB of 10 MiB have arrived"));
}

// Explorations make many runs in one process; a run that ends early leaves flows that have not started.
TEST(Flows, one_that_has_not_begun_at_the_limit_does_no_harm) {
  const Scenario scenario(R"("flows": [{"from": "server", "to": "client", "bytes": "1 MiB", "start": "1 ms"}])");
  const RunReport result = scenario.run({"--time-limit", "500 us", "--freedom", "spec", "--seeds", "1..4"});
  EXPECT_EQ(result.code, 1) << result.story();
  EXPECT_THAT(result.err + result.out, HasSubstr("seeds 1..4: 0 as expected, 4 failed"));
}

TEST(Flows, one_whose_packets_are_lost_fails_the_run) {
  const RunReport result =
      Scenario(R"("faults": [{"action": "drop", "from": "server", "count": 0}], "flows": [)" + kFlow + "]").run();
  EXPECT_EQ(result.code, 1) << result.story();
  EXPECT_EQ(result.report["flows"][0]["status"], "IBV_WC_RETRY_EXC_ERR");
  EXPECT_THAT(result.err, HasSubstr("flow 0, server to client failed at "));
  EXPECT_THAT(result.err, HasSubstr(": transport retry counter exceeded"));
}

TEST(Flows, lost_packets_are_sent_again) {
  const RunReport result =
      Scenario(R"("faults": [{"action": "drop", "from": "server", "nth": 20, "every": 100, "count": 5}], "flows": [)" + kFlow + "]").run();
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_EQ(result.report["faults"][0]["fired"], 5);
}

TEST(Flows, a_mistake_in_one_starts_nothing) {
  const RunReport result = Scenario(R"("flows": [{"from": "server", "to": "server", "bytes": "0 B"}, {"from": "nobody", "to": "client", "bytes": "1 B"}])").run();
  EXPECT_EQ(result.code, 2) << result.story();
  EXPECT_THAT(result.err, HasSubstr("/flows/0/bytes: "));
  EXPECT_THAT(result.err, HasSubstr("/flows/0/to: "));
  EXPECT_THAT(result.err, HasSubstr("/flows/1/from: "));
}

TEST(Flows, what_does_not_fit_into_memory_is_not_started) {
  support::TemporaryFolder folder;
  const std::string topology = folder.path() + "/t.json", scenario = folder.path() + "/s.json";
  std::ofstream(topology) << R"({"name": "t", "generate": {"shape": "leaf_spine", "hosts_per_leaf": 100, "hosts": 9000, "rate": "EDR 4x"}})";
  std::ofstream(scenario) << R"({"topology": "t.json", "flows": [{"from": "h0", "to": "h8999", "bytes": "1 KiB"}]})";
  const RunReport result = support::run({.scenario = scenario, .wrapper = {"prlimit", "--as=200000000"}});
  EXPECT_EQ(result.code, 2) << result.story();
  EXPECT_THAT(result.err, HasSubstr(" MiB of memory: 9000 hosts × "));
  EXPECT_THAT(result.err, HasSubstr("; 191 MiB are available; run with fewer hosts; nothing was started"));
}

TEST(Flows, go_over_ethernet_too) {
  const RunReport result = Scenario(R"("flows": [)" + kFlow + "]", support::topology("two_hosts_roce")).run();
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_EQ(result.report["flows"][0]["acknowledged"], 10 << 20);
}

TEST(Flows, all_that_the_specification_allows_may_happen_to_them) {
  for (const std::string seed : {"1", "2", "3"}) {
    const RunReport result = Scenario(kPingPong + R"(, "flows": [)" + kFlow + "]").run({"--freedom", "spec", "--seed", seed});
    EXPECT_EQ(result.code, 0) << result.story();
    EXPECT_EQ(result.report["flows"][0]["acknowledged"], 10 << 20);
  }
}

}  // namespace
// Light endpoints share a cable with a host that runs a program.
TEST(Flows, between_light_endpoints_both_modes_agree_beside_programs) {
  const support::TemporaryFolder folder;
  const std::string topology = folder.path() + "/t.json";
  std::ofstream(topology) << R"({"name": "mixed", "hosts": [{"name": "server"}, {"name": "client"}, {"name": "a", "hca": "edr_light"},
      {"name": "b", "hca": "edr_light"}], "switches": [{"name": "left"}, {"name": "right"}],
      "links": [{"a": "server", "b": "left:1", "rate": "EDR 4x"}, {"a": "a", "b": "left:2", "rate": "EDR 4x"},
                {"a": "client", "b": "right:1", "rate": "EDR 4x"}, {"a": "b", "b": "right:2", "rate": "EDR 4x"},
                {"a": "left:3", "b": "right:3", "rate": "EDR 4x"}]})";
  const std::string flows = R"(, "flows": [{"from": "a", "to": "b", "bytes": "1 MiB", "start": "1500 us"},
                                           {"from": "b", "to": "server", "bytes": "1 MiB", "start": "1500 us", "operation": "send"}])";
  std::vector<std::int64_t> ends;
  for (const std::string& traffic : {std::string(), flows}) {
    const Scenario scenario(kPingPong + traffic, topology);
    const RunReport slices = scenario.run(), call_by_call = scenario.run({"--call-by-call"});
    EXPECT_EQ(slices.code, 0) << slices.story();
    EXPECT_EQ(call_by_call.code, 0) << call_by_call.story();
    EXPECT_EQ(slices.digest(), call_by_call.digest());
    std::int64_t last = 0;
    for (const auto& program : slices.report["programs"]) last = std::max(last, program["ended_ps"].get<std::int64_t>());
    ends.push_back(last);
  }
  EXPECT_GT(ends[1], ends[0]) << "flows on the same cable delay the programs";
}

// Four hosts send to one at once, over links that drop what does not fit, with full adapters and with light
// endpoints.
TEST(Flows, over_lossy_links_they_lose_packets_and_arrive) {
  for (const std::string hca : {"edr_hca", "edr_light"}) {
    const support::TemporaryFolder folder;
    const std::string topology = folder.path() + "/t.json";
    std::ofstream(topology) << R"({"name": "lossy", "link_layer": "roce", "generate": {"shape": "star", "hosts": 5, "rate": "100 Gbps",
                                   "flow_control": "none", "hca": ")" << hca << "\"}}";
    std::string flows;
    for (int i = 1; i < 5; ++i)
      flows += (flows.empty() ? "" : ", ") + std::string(R"({"from": "h)") + std::to_string(i) + R"(", "to": "h0", "bytes": "2 MiB"})";
    const RunReport result = Scenario(R"("flows": [)" + flows + "]", topology).run({"--verify", "--trace", folder.path() + "/trace"});
    EXPECT_EQ(result.code, 0) << result.story();
    for (const auto& flow : result.report["flows"]) EXPECT_EQ(flow["acknowledged"], 2 << 20);
    const std::string trace = support::text_of_file(folder.path() + "/trace");
    EXPECT_THAT(trace, HasSubstr("packet-dropped"));
    EXPECT_THAT(trace, HasSubstr("retransmission"));
  }
}

// Two programs at distant hosts of a fat tree, alone and while all hosts send at half of their link rate:
// messages wait in queues, but the number of hand-overs between program and simulator stays the same.
TEST(Workloads, delay_programs_and_do_not_end_their_slices) {
  const support::TemporaryFolder folder;
  const std::string topology = folder.path() + "/t.json";
  std::ofstream(topology) << R"({"name": "tree",
                                 "generate": {"shape": "fat_tree", "hosts": 54, "rate": "100 Gbps", "hca": "edr_light"},
                                 "hosts": [{"name": "h0", "hca": "edr_hca"}, {"name": "h53", "hca": "edr_hca"}]})";
  const std::string load = R"(, "workloads": [{"pattern": "random", "load": 0.5, "start": "1 ms", "duration": "1 ms",
                                               "sizes": "fb-hadoop", "background": true}])";
  const auto run = [&](int messages, const std::string& more) {
    const std::string command = "ibv_rc_pingpong -s 64 -n " + std::to_string(messages);
    const std::string programs = R"("programs": [{"host": "h0", "command": ")" + command + R"("},
                                                 {"host": "h53", "command": ")" + command + R"( h0", "start": "1 ms"}])";
    RunReport report = Scenario(programs + more, topology).run({"--verify"});
    EXPECT_EQ(report.code, 0) << report.story();
    return report;
  };
  const RunReport few = run(50, ""), many = run(200, ""), few_among = run(50, load), many_among = run(200, load);
  const auto end_of = [](const RunReport& one) { return one.report["programs"][1]["ended_ps"].get<std::int64_t>(); };
  EXPECT_GT(end_of(many_among), end_of(many) + 100'000'000) << "100 us";
  const auto hand_overs = [](const RunReport& one) { return one.report["hand_overs"].get<std::int64_t>(); };
  EXPECT_EQ(hand_overs(many_among) - hand_overs(few_among), hand_overs(many) - hand_overs(few));
  EXPECT_EQ(many_among.report["workloads"][0]["name"], "random");
}

}  // namespace verbatim

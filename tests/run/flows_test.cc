// Runs with flows: alone, beside programs, and when something goes wrong.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;
using ::testing::HasSubstr;
using ::testing::Not;

// A scenario on two hosts with these keys.
class Scenario {
 public:
  explicit Scenario(const std::string& keys, const std::string& topology = support::topology("two_hosts"))
      : path_(folder_.path() + "/s.json") {
    std::ofstream(path_) << R"({"topology": ")" << topology << R"(", )" << keys << "}";
  }
  RunReport run(const std::vector<std::string>& options = {}) const {
    return support::run({.scenario = path_, .options = options});
  }

 private:
  support::TemporaryFolder folder_;
  std::string path_;
};

const std::string kFlow = R"({"from": "server", "to": "client", "bytes": "10 MiB"})";
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

// Four senders, one receiver, a switch that marks and pauses: nothing is lost, and the run says what happened.
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

TEST(Flows, without_congestion_nothing_is_said_of_it) {
  const RunReport result = Scenario(R"("flows": [)" + kFlow + "]").run();
  EXPECT_FALSE(result.report.contains("congestion"));
  EXPECT_THAT(result.err, Not(HasSubstr("congestion")));
}

TEST(Flows, the_same_run_twice_has_the_same_trace) {
  const RunReport result = Scenario(R"("flows": [)" + kFlow + "]").run({"--verify"});
  EXPECT_EQ(result.code, 0) << result.story();
  EXPECT_THAT(result.err, HasSubstr("both runs have the same trace"));
}

// The ping-pong takes part in the flow's traffic, and not in its end.
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

// Explorations make many runs in one process, and a run that ends early leaves flows that have not begun.
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

// Four hosts send to one at once, by links that lose what finds no space, with whole adapters and with light endpoints.
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

}  // namespace verbatim

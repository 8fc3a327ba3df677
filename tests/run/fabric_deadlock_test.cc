// Packets that block each other in a ring of switches end a run of flows or programs, unless something ends
// their wait.
#include <gmock/gmock.h>

#include <fstream>
#include <map>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using nlohmann::json;
using support::RunReport;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string profiles() {
  const std::string folder = support::topology("two_hosts");
  return folder.substr(0, folder.rfind('/')) + "/profiles/";
}

// Switches in a ring, with small buffers and a host each, which sends to the host two switches further on.
struct Ring {
  int switches = 5;
  bool is_roce = false;
  bool is_closed = true;
  bool has_lifetimes = false;
  json watchdog = {{"action", "off"}};
  std::string hca = "edr_light";
  json links = json::object();  // more keys of the cables
  json more = json::object();   // more keys of the scenario
  json topology_keys = json::object();

  RunReport run(std::vector<std::string> options = {}, const std::string& client = "", const std::string& server = "") {
    json profile = json::parse(support::text_of_file(profiles() + (is_roce ? "ethernet_switch.json" : "edr_switch.json")));
    profile["input_buffer"] = is_roce ? "16 KiB" : "4224 B";
    if (!has_lifetimes) {
      for (const char* lifetime : {"head_lifetime", "leaf_head_lifetime", "lifetime"}) profile[lifetime] = "0 s";
    }
    profile["pfc_watchdog"] = watchdog;
    write("small_switch.json", profile);
    json topology = {{"name", "ring"}, {"link_layer", is_roce ? "roce" : "infiniband"}};
    json scenario = {{"topology", "ring.json"}};
    const auto add_link = [&](const std::string& a, const std::string& b) {
      json link = {{"a", a}, {"b", b}, {"rate", "100 Gbps"}, {"length", "2 m"}};
      if (is_roce) link["flow_control"] = "pfc";
      link.update(links);
      topology["links"].push_back(link);
    };
    for (int i = 0; i < switches; ++i) {
      const auto number = [&](int further) { return std::to_string((i + further) % switches); };
      topology["hosts"].push_back({{"name", "h" + number(0)}, {"hca", profiles() + hca + ".json"}});
      topology["switches"].push_back({{"name", "s" + number(0)}, {"profile", "small_switch.json"}, {"ports", 3}});
      add_link("h" + number(0), "s" + number(0) + ":1");
      if (is_closed || i + 1 < switches) add_link("s" + number(0) + ":2", "s" + number(1) + ":3");
      if (client.empty()) {
        scenario["flows"].push_back({{"from", "h" + number(0)}, {"to", "h" + number(2)}, {"bytes", "4 MiB"}});
      } else {
        scenario["programs"].push_back({{"host", "h" + number(0)}, {"command", server}});
        scenario["programs"].push_back({{"host", "h" + number(0)}, {"command", client + " h" + number(2)}, {"start", "100 ms"}});
      }
    }
    scenario.update(more);
    topology.update(topology_keys);
    write("ring.json", topology);
    write("scenario.json", scenario);
    return support::run({.scenario = folder.path() + "/scenario.json", .options = std::move(options)});
  }
  void write(const std::string& name, const json& content) { std::ofstream(folder.path() + "/" + name) << content.dump(1); }

  support::TemporaryFolder folder;
};

constexpr char kLoop[] = "credit loop: s0:2 -> s1:2 -> s2:2 -> s3:2 -> s4:2 -> s0:2: each of these output ports waits for buffer space";

void expect_deadlock(const RunReport& run, const std::string& loop) {
  EXPECT_EQ(run.code, 3) << run.story();
  EXPECT_EQ(run.report["outcome"], "deadlock");
  EXPECT_THAT(run.err, HasSubstr("verbatim: the fabric is deadlocked at "));
  EXPECT_THAT(run.err, ContainsRegex("verbatim: cause: at [0-9.]+ u?s, packets are stuck in the fabric: " + loop));
  EXPECT_THAT(run.err, HasSubstr("verbatim: what to do: shortest paths around a ring of switches can deadlock"));
  EXPECT_EQ(run.report["cause"]["subject"], "credit-loop");
  EXPECT_THAT(run.err, Not(HasSubstr("RETRY_EXC")));
}

TEST(FabricDeadlock, of_credits_ends_a_run_of_flows) {
  const RunReport run = Ring().run({"--verify"});
  expect_deadlock(run, kLoop);
  for (const json& flow : run.report["flows"]) EXPECT_TRUE(flow["finish_ps"].is_null());
}

TEST(FabricDeadlock, of_pauses_ends_a_run_of_flows) {
  Ring ring;
  ring.is_roce = true;
  ring.hca = "edr_roce_light";
  const RunReport run = ring.run({"--verify"});
  expect_deadlock(run, kLoop);
  EXPECT_EQ(run.report["losses"]["packets_dropped"], 0);
}

// Of four switches both ways to the opposite one are equally long, so the flows close the ring with some seeds. The
// memory that the other way has freed would suffice to resume an output, but its far end decides only when a packet leaves.
TEST(FabricDeadlock, of_pauses_by_shared_memory_is_recognised_whatever_ways_flows_take) {
  const support::TemporaryFolder folder;
  json topology = {{"name", "ring"}, {"link_layer", "roce"}, {"interface_mtu", 9000}};
  topology["profile_changes"] = {{"spectrum", {{"shared_memory", {{"size", "4 MiB"}}}}},
                                 {"edr_roce", {{"congestion_control", {{"controller", "none"}}}}}};
  json scenario = {{"topology", "ring.json"}};
  const auto add_link = [&](const std::string& a, const std::string& b) {
    topology["links"].push_back({{"a", a}, {"b", b}, {"rate", "100 Gbps"}, {"length", "5 m"}});
  };
  for (int i = 0; i < 4; ++i) {
    const std::string here = std::to_string(i), next = std::to_string((i + 1) % 4), opposite = std::to_string((i + 2) % 4);
    topology["switches"].push_back({{"name", "s" + here}, {"profile", "spectrum"}, {"ports", 8}});
    add_link("s" + here + ":2", "s" + next + ":1");
    for (const std::string one : {"a", "b"}) {
      topology["hosts"].push_back({{"name", "h" + here + one}, {"hca", "edr_roce"}});
      add_link("h" + here + one, "s" + here + (one == "a" ? ":3" : ":4"));
      scenario["flows"].push_back({{"from", "h" + here + one}, {"to", "h" + opposite + one}, {"bytes", "16 MiB"}});
    }
  }
  std::ofstream(folder.path() + "/ring.json") << topology;
  std::ofstream(folder.path() + "/scenario.json") << scenario;
  std::map<int, int> codes;
  for (int seed = 1; seed <= 8; ++seed) {
    const RunReport run = support::run({.scenario = folder.path() + "/scenario.json", .options = {"--seed", std::to_string(seed)}});
    EXPECT_EQ(run.report["losses"]["packets_dropped"], 0) << seed;
    ++codes[run.code];
  }
  EXPECT_GT(codes[3], 0);
  EXPECT_GT(codes[0], 0);
  EXPECT_EQ(codes[0] + codes[3], 8) << "no flow ends by a timeout";
}

TEST(Warnings, of_a_scenario_are_shown_by_run_as_by_check) {
  const support::TemporaryFolder folder;
  std::ofstream(folder.path() + "/star.json") << R"({"name": "star", "link_layer": "roce", "generate": {"shape": "star", "hosts": 2,
    "rate": "100 Gbps", "hca": "edr_roce", "switch": "hpcc_switch"}})";
  std::ofstream(folder.path() + "/scenario.json")
      << R"({"topology": "star.json", "flows": [{"from": "h1", "to": "h0", "bytes": "1 MiB"}]})";
  EXPECT_THAT(support::run({.scenario = folder.path() + "/scenario.json"}).err, HasSubstr("is not notified of congestion"));
}

// Slices of programs end with the run, at the same time in either mode.
TEST(FabricDeadlock, ends_a_run_of_programs_at_one_time_in_both_modes) {
  const std::string command = "ib_send_bw -e -s 65536 -n 200 -u 8";
  Ring ring;
  ring.hca = "edr_hca";
  const RunReport slices = ring.run({"--verify"}, command, command);
  expect_deadlock(slices, kLoop);
  const RunReport calls = ring.run({"--calls", ring.folder.path() + "/calls"}, command, command);
  expect_deadlock(calls, kLoop);
  EXPECT_EQ(slices.digest(), calls.digest());
  EXPECT_EQ(slices.report["virtual_time_ps"], calls.report["virtual_time_ps"]);
}

TEST(FabricDeadlock, is_none_where_the_ring_is_open) {
  Ring ring;
  ring.is_roce = true;
  ring.is_closed = false;
  ring.hca = "edr_roce_light";
  const RunReport run = ring.run();
  EXPECT_EQ(run.code, 0) << run.story();
}

TEST(FabricDeadlock, is_none_where_lifetimes_end_the_waits) {
  Ring ring;
  ring.has_lifetimes = true;
  const RunReport run = ring.run();
  EXPECT_NE(run.code, 3) << run.story();
  EXPECT_NE(run.report["outcome"], "deadlock");
}

TEST(FabricDeadlock, is_none_where_a_watchdog_ends_the_waits) {
  Ring ring;
  ring.is_roce = true;
  ring.hca = "edr_roce_light";
  ring.watchdog = {{"action", "drop"}, {"detection_time", "1 ms"}, {"restoration_time", "1 ms"}};
  const RunReport run = ring.run({"--verify"});
  EXPECT_NE(run.code, 3) << run.story();
  EXPECT_EQ(run.report["outcome"], "finished");
  EXPECT_GT(run.report["losses"]["packets_dropped"], 0);
}

// The timeout of 8 us is shorter than the queues of an incast: requests are retransmitted repeatedly, without
// deadlock.
TEST(FabricDeadlock, is_none_in_a_live_fabric_whose_requests_time_out) {
  const std::string client = "ib_write_bw -s 65536 -n 30 -u 1", server = "ib_write_bw -s 65536 -n 30 -u 1";
  Ring ring;
  ring.hca = "edr_hca";
  ring.is_closed = false;
  const RunReport run = ring.run({}, client, server);
  EXPECT_NE(run.code, 3) << run.story();
  EXPECT_THAT(run.err, Not(HasSubstr("credit loop")));
}

// A host pauses its switch from 1 ms on; with a watchdog the flow to it fails, and the other flow continues.
TEST(PauseStorm, stops_all_flows_and_a_watchdog_saves_those_that_go_elsewhere) {
  for (const bool has_watchdog : {false, true}) {
    Ring ring;
    ring.is_roce = true;
    ring.is_closed = false;
    ring.hca = "edr_roce_light";
    if (has_watchdog) ring.watchdog = {{"action", "drop"}, {"detection_time", "2 ms"}, {"restoration_time", "2 ms"}};
    ring.more = {{"flows", {{{"from", "h0"}, {"to", "h2"}, {"bytes", "64 MiB"}}, {{"from", "h0"}, {"to", "h1"}, {"bytes", "64 MiB"}}}},
                 {"faults", {{{"action", "pause_storm"}, {"from", "h2"}, {"at", "1 ms"}}}}};
    const RunReport run = ring.run({"--time-limit", "30 s"});
    EXPECT_EQ(run.code, 1) << run.story();
    EXPECT_EQ(run.report["flows"][0]["status"], "IBV_WC_RETRY_EXC_ERR");
    EXPECT_EQ(run.report["flows"][1]["status"], has_watchdog ? "IBV_WC_SUCCESS" : "IBV_WC_RETRY_EXC_ERR");
    EXPECT_EQ(run.report["losses"]["packets_dropped"] > 0, has_watchdog);
  }
}

TEST(PauseStorm, that_ends_lets_all_flows_finish) {
  Ring ring;
  ring.is_roce = true;
  ring.is_closed = false;
  ring.hca = "edr_roce_light";
  ring.more = {{"faults", {{{"action", "pause_storm"}, {"from", "h2"}, {"at", "100 us"}, {"until", "2 ms"}}}}};
  const RunReport run = ring.run({"--verify"});
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.report["losses"]["packets_dropped"], 0);
  EXPECT_GT(run.report["virtual_time_ps"], 2'000'000'000);
}

// The two ends of each ring cable have different pause settings.
TEST(Mismatch, drops_packets_and_is_named_by_the_run) {
  Ring ring;
  ring.is_roce = true;
  ring.is_closed = false;
  ring.hca = "edr_roce_light";
  ring.links = {{"pfc", {{"ends", "a"}}}};
  RunReport run = ring.run();
  EXPECT_EQ(run.code, 2) << run.story();
  EXPECT_THAT(run.err, HasSubstr("\"allow_mismatch\": true"));
  ring.topology_keys = {{"allow_mismatch", true}};
  run = ring.run();
  EXPECT_NE(run.code, 2) << run.story();
  EXPECT_THAT(run.err, HasSubstr("verbatim: warning: mismatch: \"h0\" pauses and is paused, and \"s0\" at the other end of its cable drops what "
                                 "finds no space and knows no pauses\n"));
  EXPECT_THAT(run.err, HasSubstr("verbatim: warning: and 4 more mismatches\n"));
  EXPECT_GT(run.report["losses"]["packets_dropped"], 0);
}

}  // namespace
}  // namespace verbatim

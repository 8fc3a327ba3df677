// Flows over an Ethernet leaf-spine fabric continue on other cables after a cable fails.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/config/flows.h"
#include "sim/config/reroutes.h"
#include "sim/config/simulation.h"
#include "sim/observe/digest_sink.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace reroute {
namespace {

// Ports of a leaf: 4 hosts, then 4 spines; ports of a spine: 2 leaves.
constexpr std::uint32_t kPerLeaf = 4, kSpines = 4, kFirstUplink = kPerLeaf + 1;

struct Outcome {
  std::vector<ib::WcStatus> statuses;
  std::int64_t end_ps = 0;
  std::string digest;
  std::uint64_t sent_by_uplink[kSpines] = {};  // packets sent by leaf0
  std::uint64_t sent_to_leaf1[kSpines] = {};   // packets sent by each spine

  bool all_succeeded() const {
    return std::ranges::all_of(statuses, [](ib::WcStatus status) { return status == ib::WcStatus::kSuccess; });
  }
};

ScenarioSpec scenario(const std::string& faults, const std::string& bytes, const std::string& keys) {
  Folder folder;
  folder.write("t.json", R"({"name": "t", "link_layer": "roce", )" + keys + R"("generate": {"shape": "leaf_spine", "hosts": 8, "hosts_per_leaf": 4,
                            "spines": 4, "rate": "100 Gbps", "switch": "ethernet_switch"}})");
  std::string flows;
  for (std::uint32_t i = 0; i < kPerLeaf; ++i) {
    flows += (i == 0 ? "" : ", ") + std::string(R"({"from": "h)") + std::to_string(i) + R"(", "to": "h)" + std::to_string(i + kPerLeaf) +
             R"(", "bytes": ")" + bytes + R"(", "queue_pairs": 8, "message_size": "64 KiB"})";
  }
  Diagnostics diagnostics;
  const auto spec = load_scenario(
      folder.write("s.json", R"({"topology": "t.json", "flows": [)" + flows + R"(], "faults": [)" + faults + "]}"), with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  return spec.value_or(ScenarioSpec());
}

Outcome run(const std::string& faults, const std::string& bytes = "20 MiB", const std::string& keys = "") {
  const ScenarioSpec spec = scenario(faults, bytes, keys);
  DefaultChoices choices;
  Simulation simulation(spec.topology, 1, choices);
  observe::DigestSink digest;
  simulation.tracer().add(digest);
  simulation.add_faults(spec.faults);
  workload::Workload workload;
  add_traffic(simulation, spec.traffic, workload);
  simulation.engine().run();
  EXPECT_TRUE(workload.is_done());
  Outcome outcome;
  for (const workload::Flow& flow : workload.flows()) {
    outcome.statuses.push_back(flow.status());
    outcome.end_ps = std::max(outcome.end_ps, to_ps(flow.finish()));
  }
  outcome.digest = digest.hex();
  const auto sent = [&](const char* name, std::uint32_t port) {
    for (std::size_t i = 0; i < spec.topology.switches.size(); ++i) {
      if (spec.topology.switches[i].name == name)
        return simulation.fabric_switch(i).port(fabric::PortNumber{static_cast<std::uint8_t>(port)}).counters().xmit_packets;
    }
    return std::uint64_t{0};
  };
  for (std::uint32_t i = 0; i < kSpines; ++i) {
    outcome.sent_by_uplink[i] = sent("leaf0", kFirstUplink + i);
    outcome.sent_to_leaf1[i] = sent(("spine" + std::to_string(i)).c_str(), 2);
  }
  return outcome;
}

constexpr std::int64_t kMsPs = 1'000'000'000;

TEST(Reroute, an_uplink_that_dies_costs_a_timeout_and_no_flow) {
  const Outcome whole = run("");
  ASSERT_TRUE(whole.all_succeeded());
  for (const std::uint64_t sent : whole.sent_by_uplink) ASSERT_GT(sent, 0u) << "flows use all uplinks";
  const Outcome outcome = run(R"({"action": "link_down", "link": "leaf0:5", "at": "200 us"})");
  EXPECT_TRUE(outcome.all_succeeded());
  EXPECT_GT(outcome.end_ps, 200 * kMsPs) << "acknowledgements come to spine0 until the routes have converged";
  EXPECT_LT(outcome.end_ps, 300 * kMsPs);
  EXPECT_LT(outcome.sent_by_uplink[0], whole.sent_by_uplink[0]);
  const Outcome sooner = run(R"({"action": "link_down", "link": "leaf0:5", "at": "200 us"})", "20 MiB", R"("convergence_time": "20 ms", )");
  EXPECT_TRUE(sooner.all_succeeded());
  EXPECT_LT(sooner.end_ps, 100 * kMsPs) << "one expiry of the transport timer";
}

TEST(Reroute, without_withdrawal_the_flows_of_the_dead_uplink_end_by_retries) {
  const ScenarioSpec spec = scenario(R"({"action": "link_down", "link": "leaf0:5", "at": "200 us"})", "20 MiB", R"("convergence_time": "1000 s", )");
  ScenarioSpec stubborn = spec;
  for (SwitchSpec& one : stubborn.topology.switches) one.switch_profile.withdrawal_delay = Duration(1'000 * kMsPs * 1'000);
  DefaultChoices choices;
  Simulation simulation(stubborn.topology, 1, choices);
  simulation.add_faults(stubborn.faults);
  workload::Workload workload;
  add_traffic(simulation, stubborn.traffic, workload);
  simulation.engine().run();
  std::size_t ended = 0;
  for (const workload::Flow& flow : workload.flows()) ended += flow.status() == ib::WcStatus::kRetryExceeded ? 1 : 0;
  EXPECT_GT(ended, 0u);
}

// Packets to leaf1 are lost at spine2; leaf0 learns this from the routing protocol only.
TEST(Reroute, a_spine_without_a_cable_to_a_leaf_is_avoided_once_routes_have_converged) {
  const std::string fault = R"({"action": "link_down", "link": "spine2:2", "at": "200 us"})";
  const Outcome outcome = run(fault, "20 MiB", R"("convergence_time": "30 ms", )");
  EXPECT_TRUE(outcome.all_succeeded());
  EXPECT_GT(outcome.end_ps, 30 * kMsPs);
  EXPECT_LT(outcome.end_ps, 200 * kMsPs);
  const Outcome never = run(fault, "20 MiB", R"("convergence_time": "1000 s", )");
  EXPECT_TRUE(std::ranges::count(never.statuses, ib::WcStatus::kRetryExceeded) > 0);
}

TEST(Reroute, a_repaired_uplink_is_used_again) {
  const std::string keys = R"("convergence_time": "1 ms", )";
  const std::string down = R"({"action": "link_down", "link": "leaf0:5", "at": "0 s")";
  const Outcome broken = run(down + "}", "200 MiB", keys);
  EXPECT_TRUE(broken.all_succeeded());
  const Outcome repaired = run(down + R"(, "until": "2 ms"})", "200 MiB", keys);
  EXPECT_TRUE(repaired.all_succeeded());
  EXPECT_EQ(broken.sent_by_uplink[0], 0u);
  EXPECT_GT(repaired.sent_by_uplink[0], 1'000u);
}

TEST(Reroute, failures_of_both_directions_are_survived_and_repeated_to_the_bit) {
  const std::string faults = R"({"action": "link_down", "link": "leaf0:5", "at": "100 us", "until": "40 ms"},
                                {"action": "link_down", "link": "spine1:2", "at": "150 us"},
                                {"action": "link_down", "link": "leaf1:7", "at": "150 us", "until": "90 ms"})";
  const std::string keys = R"("convergence_time": "5 ms", )";
  const Outcome outcome = run(faults, "20 MiB", keys);
  EXPECT_TRUE(outcome.all_succeeded());
  EXPECT_EQ(run(faults, "20 MiB", keys).digest, outcome.digest);
}

// Times of route changes, and the ports of leaf0 for a host at leaf1.
TEST(Reroute, routes_are_those_of_the_cables_that_were_intact_a_convergence_time_before) {
  const ScenarioSpec spec = scenario(R"({"action": "link_down", "link": "spine2:2", "at": "1 ms", "until": "3 ms"},
                                        {"action": "link_down", "link": "leaf0:5", "at": "2 ms"},
                                        {"action": "link_down", "link": "h0", "at": "2500 us"},
                                        {"action": "link_down", "link": "leaf0:5", "at": "2500 us", "until": "4 ms"})",
                                     "1 MiB", R"("convergence_time": "10 ms", )");
  const auto plan = plan_of(spec.topology);
  const auto changes = route_changes_of(spec.topology, spec.faults, plan).by_switch;
  const std::size_t h4 = *spec.topology.host("h4");
  const std::uint64_t destination = plan.nodes[h4].ports[0].mac.value - subnet::kMacBase.value;
  std::string text;
  for (std::size_t i = 0; i < spec.topology.switches.size(); ++i) {
    if (spec.topology.switches[i].name != "leaf0") continue;
    for (const fabric::RouteChange& change : changes[i]) {
      text += std::to_string(to_ps(change.at) / kMsPs) + " ms:";
      if (change.routes == nullptr) text += " all";
      if (change.routes != nullptr) {
        for (const fabric::PortNumber port : change.routes->ports_to(destination)) text += " " + std::to_string(port.value);
      }
      text += "\n";
    }
  }
  EXPECT_EQ(text, "11 ms: 5 6 8\n12 ms: 6 8\n13 ms: 6 7 8\n14 ms: all\n");
}

TEST(Reroute, is_of_ethernet) {
  EXPECT_EQ(topology_findings(R"({"name": "t", "convergence_time": "1 ms", "generate": {"shape": "star", "hosts": 2, "rate": "EDR 4x"}})"),
            "/convergence_time: routes of InfiniBand are the subnet manager's; give \"sweep_time\", or choose the link layer \"roce\"\n");
}

}  // namespace
}  // namespace reroute
}  // namespace verbatim::config

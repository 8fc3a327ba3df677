// Adaptive routing of InfiniBand: packets of WRITEs use all ports of a group, others use the port of the
// table.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sim/config/cabling.h"
#include "sim/config/flows.h"
#include "sim/config/simulation.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

namespace adaptive {

constexpr std::size_t kSpines = 4, kHostsPerLeaf = 4, kLeaves = 5;

struct Outcome {
  std::int64_t slowest_ps = 0;
  std::vector<std::uint64_t> by_uplink;  // packets from leaf0 to each spine
  std::map<std::uint64_t, std::uint64_t> retransmissions;  // by cause
  std::uint64_t drops = 0;

  std::uint64_t most() const { return *std::ranges::max_element(by_uplink); }
  std::uint64_t least() const { return *std::ranges::min_element(by_uplink); }
  std::size_t used() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(by_uplink, [](std::uint64_t packets) { return packets > 16; }));
  }
};

struct Seen final : TraceSink {
  void on_record(const TraceRecord& record, std::span<const std::byte>) override {
    if (record.event == TraceEvent::kRetransmission) ++retransmissions[record.values[2]];
    if (record.event == TraceEvent::kPacketDropped) ++drops;
  }
  std::map<std::uint64_t, std::uint64_t> retransmissions;
  std::uint64_t drops = 0;
};

struct Case {
  std::string keys = {};  // more keys of the topology
  std::string hca = "orders";
  std::string operation = "write";
  std::string faults = "[]";
  std::size_t flows = kHostsPerLeaf;
  std::string other_hca = {};  // profile of the destination hosts; empty: `hca`
  std::string bytes = "4 MiB";
};

constexpr char kAdaptive[] = R"("load_balancing": {"by": "packet"}, )";

void write_profiles(const Folder& folder) {
  folder.write("orders.json", R"({"profile": "hca", "name": "orders", "loss_recovery": {"gap_time": "100 us"}})");
  folder.write("orders_light.json", R"({"profile": "hca", "name": "orders", "endpoint": "light", "loss_recovery": {"gap_time": "100 us"}})");
  folder.write("in_order.json", R"({"profile": "hca", "name": "in_order"})");
}

std::string topology_text(const Case& of, const std::string& hosts = "") {
  return R"({"name": "t", )" + of.keys + hosts + R"("generate": {"shape": "leaf_spine", "hosts": 20, "hosts_per_leaf": 4, "spines": 4, "rate": "EDR", "hca": ")" +
         of.hca + R"("}})";
}

// One host of each other leaf for which leaf0's forwarding table has the same uplink.
std::vector<std::size_t> hot_destinations(const TopologySpec& topology) {
  const subnet::Plan plan = plan_of(topology);
  const auto leaf0 = static_cast<std::size_t>(std::ranges::find(topology.switches, "leaf0", &SwitchSpec::name) - topology.switches.begin());
  const auto port_to = [&](std::size_t host) {
    return plan.nodes[topology.adapters.size() + leaf0].forwarding_table[plan.nodes[host].ports[0].lid.value];
  };
  std::vector<std::size_t> hosts{kHostsPerLeaf};
  for (std::size_t leaf = 2; leaf < kLeaves; ++leaf) {
    for (std::size_t host = leaf * kHostsPerLeaf; host < (leaf + 1) * kHostsPerLeaf; ++host) {
      if (port_to(host) == port_to(kHostsPerLeaf)) hosts.push_back(host);
    }
  }
  return hosts;
}

// Flows from the hosts of leaf0 to hosts of other leaves, which use one uplink if the forwarding tables
// decide.
Outcome run(const Case& of, std::uint64_t seed = 1) {
  Folder folder;
  write_profiles(folder);
  Diagnostics diagnostics;
  const auto planned = load_topology(folder.write("t.json", topology_text(of)), with_profiles(), diagnostics);
  EXPECT_TRUE(planned.has_value()) << text_of(diagnostics);
  if (!planned) return {};
  const std::vector<std::size_t> destinations = hot_destinations(*planned);
  EXPECT_GE(destinations.size(), of.flows);
  std::string flows, hosts;
  for (std::size_t i = 0; i < of.flows; ++i) {
    const std::string to = "h" + std::to_string(destinations.at(i));
    flows += std::string(i == 0 ? "" : ", ") + R"({"from": "h)" + std::to_string(i) + R"(", "to": ")" + to + R"(", "bytes": ")" + of.bytes +
             R"(", "message_size": "1 MiB", "operation": ")" + of.operation + "\"}";
    if (!of.other_hca.empty()) hosts += std::string(i == 0 ? "" : ", ") + R"({"name": ")" + to + R"(", "hca": ")" + of.other_hca + "\"}";
  }
  if (!hosts.empty()) folder.write("t.json", topology_text(of, R"("hosts": [)" + hosts + "], "));
  const std::string text = R"({"name": "s", "topology": "t.json", "faults": )" + of.faults + R"(, "flows": [)" + flows + "]}";
  const auto spec = load_scenario(folder.write("s.json", text), with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  if (!spec) return {};
  DefaultChoices choices;
  Simulation simulation(spec->topology, seed, choices);
  Seen seen;
  simulation.tracer().add(seen);
  simulation.add_faults(spec->faults);
  workload::Workload workload;
  add_traffic(simulation, spec->traffic, workload);
  simulation.engine().run();
  Outcome outcome{.retransmissions = seen.retransmissions, .drops = seen.drops};
  for (const workload::Flow& flow : workload.flows()) {
    EXPECT_TRUE(flow.is_done() && flow.status() == ib::WcStatus::kSuccess);
    outcome.slowest_ps = std::max(outcome.slowest_ps, to_ps(flow.finish()));
  }
  for (std::size_t i = 0; i < spec->topology.switches.size(); ++i) {
    if (spec->topology.switches[i].name != "leaf0") continue;
    for (std::size_t spine = 0; spine < kSpines; ++spine) {
      const fabric::PortNumber port{static_cast<std::uint8_t>(kHostsPerLeaf + 1 + spine)};
      outcome.by_uplink.push_back(simulation.fabric_switch(i).port(port).counters().xmit_packets);
    }
  }
  return outcome;
}

// Four flows that share a cable take four times as long as one; spread over all four cables they take as long
// as one alone.
TEST(AdaptiveRouting, four_flows_that_share_an_uplink_by_tables_have_one_each_by_groups) {
  for (const char* const hca : {"orders", "orders_light"}) {
    const auto alone = static_cast<double>(run({.hca = hca, .flows = 1}).slowest_ps);
    const Outcome fixed = run({.hca = hca}), spread = run({.keys = kAdaptive, .hca = hca});
    EXPECT_EQ(fixed.used(), 1u) << hca;
    EXPECT_NEAR(static_cast<double>(fixed.slowest_ps), 4 * alone, 0.05 * alone) << hca;
    EXPECT_EQ(spread.used(), kSpines) << hca;
    EXPECT_LT(static_cast<double>(spread.slowest_ps), 1.05 * alone) << hca;
    EXPECT_LT(spread.most() - spread.least(), spread.most() / 20) << hca;
    EXPECT_TRUE(spread.retransmissions.empty()) << hca << ": what overtakes is put into order";
  }
}

TEST(AdaptiveRouting, sends_stay_on_the_port_of_the_table) {
  const Outcome sends = run({.keys = kAdaptive, .operation = "send"});
  EXPECT_EQ(sends.used(), 1u);
  EXPECT_TRUE(sends.retransmissions.empty());
  EXPECT_EQ(sends.slowest_ps, run({.operation = "send"}).slowest_ps) << "nothing else changes for them";
}

TEST(AdaptiveRouting, is_for_adapters_that_put_packets_into_order) {
  const Outcome some = run({.keys = kAdaptive, .other_hca = "in_order"});
  EXPECT_EQ(some.used(), 1u) << "the switches have no groups for their LIDs";
  EXPECT_TRUE(some.retransmissions.empty());
}

// Without a sweep: only packets that are on the failed cable or queued for it are lost, because the group
// leaves the cable out. Acknowledgements use the path of the table, which does not contain the failed cable
// here.
TEST(AdaptiveRouting, a_group_leaves_out_a_dead_cable_at_once) {
  const std::string down = R"([{"action": "link_down", "link": "leaf0:6", "at": "100 us"}])";
  const Outcome spread = run({.keys = std::string(R"("sweep_time": "off", )") + kAdaptive, .faults = down, .flows = 1});
  EXPECT_GT(spread.drops, 0u);
  EXPECT_LT(spread.drops, 100u);
  EXPECT_LT(spread.slowest_ps, 2'000'000'000) << "2 ms, and 350 us without the failure";
  EXPECT_LT(spread.by_uplink[1] * 2, spread.by_uplink[0]);
}

// After the sweep, groups avoid the spine that has no cable to the destination's leaf; until then one packet
// in four is lost.
TEST(AdaptiveRouting, groups_are_those_of_the_last_sweep) {
  const std::string down = R"([{"action": "link_down", "link": "leaf1:5", "at": "100 us"}])";
  const Outcome swept = run({.keys = std::string(R"("sweep_time": "1 ms", )") + kAdaptive, .faults = down, .flows = 1, .bytes = "64 MiB"});
  EXPECT_GT(swept.drops, 0u);
  EXPECT_LT(swept.by_uplink[0] * 10, swept.by_uplink[1]) << "leaf1:5 leads to spine0";
  EXPECT_LT(swept.slowest_ps, 200'000'000'000);
}

TEST(AdaptiveRouting, engines_have_it_by_names_with_ar) {
  for (const std::string engine : {"ar_minhop", "ar_updn", "ar_ftree", "ar_dor"}) {
    const Outcome spread = run({.keys = R"("routing_engine": ")" + engine + "\", "});
    EXPECT_EQ(spread.used(), engine == "ar_dor" ? 1u : kSpines) << engine << ": one cable leads to each spine";
    EXPECT_TRUE(spread.retransmissions.empty()) << engine;
  }
}

std::string findings_of(const std::string& keys, const std::string& hca = "orders") {
  Folder folder;
  write_profiles(folder);
  Diagnostics diagnostics;
  load_topology(folder.write("t.json", topology_text({.keys = keys, .hca = hca})), with_profiles(), diagnostics);
  return text_of(diagnostics);
}

TEST(AdaptiveRouting, what_cannot_use_it_is_said) {
  EXPECT_EQ(findings_of(kAdaptive), "");
  EXPECT_NE(findings_of(kAdaptive, "in_order").find("/load_balancing/by: no adapter here can put packets into order"), std::string::npos);
  EXPECT_NE(findings_of(R"("routing_engine": "ar_updn", )", "in_order").find("/load_balancing/by: no adapter here"), std::string::npos);
  EXPECT_NE(findings_of(std::string(R"("routing_engine": "updn, lash", )") + kAdaptive).find("/load_balancing/by: the routing engine lash computes one path"), std::string::npos);
  EXPECT_NE(findings_of(R"("load_balancing": {"by": "flowlet"}, )").find("/load_balancing/by: switches of InfiniBand do not follow flowlets"), std::string::npos);
  EXPECT_NE(findings_of(std::string(R"("subnet_manager": "none", )") + kAdaptive).find("/load_balancing/by: the simulation does not manage this subnet"), std::string::npos);
  EXPECT_NE(findings_of(R"("routing_engine": "ar_lash", )").find("/routing_engine: there is no routing engine \"ar_lash\""), std::string::npos);
}

TEST(AdaptiveRouting, the_same_seed_gives_the_same_times) {
  EXPECT_EQ(run({.keys = kAdaptive}, 7).slowest_ps, run({.keys = kAdaptive}, 7).slowest_ps);
}

}  // namespace adaptive

}  // namespace
}  // namespace verbatim::config

// Cables of InfiniBand that fail under flows: the subnet manager sweeps, and the flows go on. Fabrics that can deadlock, and the
// routing engines that keep them from it.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/config/flows.h"
#include "sim/config/reroutes.h"
#include "sim/config/simulation.h"
#include "sim/fabric/credit_loop.h"
#include "sim/observe/digest_sink.h"
#include "sim/subnet/credit_loops.h"
#include "tests/config/helpers.h"
#include "tests/config/shapes.h"

namespace verbatim::config {
namespace sweep {
namespace {

constexpr std::int64_t kMsPs = 1'000'000'000;

class Records final : public TraceSink {
 public:
  void on_record(const TraceRecord& record, std::span<const std::byte>) override {
    if (record.event == TraceEvent::kRoutesChanged) sweeps.push_back(record);
  }
  std::vector<TraceRecord> sweeps;
};

struct Outcome {
  std::vector<ib::WcStatus> statuses;
  std::int64_t flows_end_ps = 0;
  std::vector<TraceRecord> sweeps;
  std::string digest;
  std::uint64_t sent_by_spine1 = 0;

  std::size_t count(ib::WcStatus status) const { return static_cast<std::size_t>(std::ranges::count(statuses, status)); }
};

std::optional<ScenarioSpec> scenario(const std::string& topology, const std::string& flows, const std::string& faults = "") {
  Folder folder;
  folder.write("lanes.json", R"({"profile": "switch", "name": "lanes", "virtual_lanes": 2})");
  folder.write("t.json", topology);
  Diagnostics diagnostics;
  auto spec = load_scenario(folder.write("s.json", R"({"topology": "t.json", "flows": [)" + flows + R"(], "faults": [)" + faults + "]}"),
                            with_profiles(), diagnostics);
  EXPECT_TRUE(spec.has_value()) << text_of(diagnostics);
  return spec;
}

std::string flow(const std::string& from, const std::string& to, const std::string& bytes, const std::string& more = "") {
  return R"({"from": ")" + from + R"(", "to": ")" + to + R"(", "bytes": ")" + bytes + "\"" + more + "}";
}

Outcome run(const ScenarioSpec& spec) {
  DefaultChoices choices;
  Simulation simulation(spec.topology, 1, choices);
  observe::DigestSink digest;
  Records records;
  simulation.tracer().add(digest);
  simulation.tracer().add(records);
  simulation.add_faults(spec.faults);
  workload::Workload workload;
  add_traffic(simulation, spec.traffic, workload);
  simulation.engine().run();
  Outcome outcome;
  for (const workload::Flow& flow : workload.flows()) {
    outcome.statuses.push_back(flow.status());
    outcome.flows_end_ps = std::max(outcome.flows_end_ps, to_ps(flow.finish()));
  }
  outcome.sweeps = records.sweeps;
  outcome.digest = digest.hex();
  for (std::size_t i = 0; i < spec.topology.switches.size(); ++i) {
    if (spec.topology.switches[i].name == "spine1") outcome.sent_by_spine1 = simulation.fabric_switch(i).port(fabric::PortNumber{2}).counters().xmit_packets;
  }
  return outcome;
}

// Two leaves with four hosts each, two spines; every host of the first sends to one of the second. Ports of a leaf: hosts,
// spine0, spine1.
Outcome two_spines(const std::string& keys, const std::string& faults, const std::string& bytes = "20 MiB") {
  std::string flows;
  for (int i = 0; i < 4; ++i) flows += (i == 0 ? "" : ", ") + flow("h" + std::to_string(i), "h" + std::to_string(i + 4), bytes);
  const auto spec = scenario(R"({"name": "t", )" + keys + R"("generate": {"shape": "leaf_spine", "hosts": 8, "hosts_per_leaf": 4, "spines": 2, "rate": "EDR 4x"}})",
                             flows, faults);
  return spec ? run(*spec) : Outcome();
}

const std::string kDown = R"({"action": "link_down", "link": "leaf0:5", "at": "200 us")";

TEST(Sweep, flows_go_on_by_the_other_spine_when_the_subnet_manager_has_swept) {
  const Outcome outcome = two_spines("", kDown + "}");
  EXPECT_EQ(outcome.count(ib::WcStatus::kSuccess), 4u);
  EXPECT_GT(outcome.flows_end_ps, 100 * kMsPs) << "the usual sweep_time";
  EXPECT_LT(outcome.flows_end_ps, 250 * kMsPs);
  ASSERT_EQ(outcome.sweeps.size(), 1u);
  EXPECT_GE(outcome.sweeps[0].time_ps, 100 * kMsPs + kMsPs / 5);
  EXPECT_EQ(outcome.sweeps[0].values[0], 4u) << "tables of both leaves, of spine0, which no longer reaches leaf0, and of spine1, which carries more";
}

TEST(Sweep, without_one_flows_of_the_dead_cable_end_by_retries) {
  const Outcome outcome = two_spines(R"("sweep_time": "off", )", kDown + "}");
  EXPECT_EQ(outcome.count(ib::WcStatus::kSuccess), 2u);
  EXPECT_EQ(outcome.count(ib::WcStatus::kRetryExceeded), 2u);
  EXPECT_TRUE(outcome.sweeps.empty());
}

// Retries take 540 ms.
TEST(Sweep, one_that_takes_longer_than_the_retries_comes_too_late) {
  const Outcome outcome = two_spines(R"("sweep_time": "2 s", )", kDown + "}");
  EXPECT_EQ(outcome.count(ib::WcStatus::kRetryExceeded), 2u);
  EXPECT_LT(outcome.flows_end_ps, 1'000 * kMsPs);
}

TEST(Sweep, a_repaired_cable_has_its_routes_again) {
  const std::string keys = R"("sweep_time": "1 ms", )";
  const Outcome whole = two_spines(keys, "", "200 MiB"), broken = two_spines(keys, kDown + "}", "200 MiB"),
                repaired = two_spines(keys, kDown + R"(, "until": "2 ms"})", "200 MiB");
  for (const Outcome* one : {&whole, &broken, &repaired}) EXPECT_EQ(one->count(ib::WcStatus::kSuccess), 4u);
  EXPECT_EQ(repaired.sweeps.size(), 2u);
  EXPECT_EQ(broken.sweeps.size(), 1u);
  EXPECT_GT(broken.sent_by_spine1, repaired.sent_by_spine1);
  EXPECT_LT(repaired.flows_end_ps, broken.flows_end_ps);
}

TEST(Sweep, is_repeated_to_the_bit) {
  const std::string keys = R"("sweep_time": "5 ms", )", faults = kDown + R"(, "until": "40 ms"}, {"action": "link_down", "link": "spine1:2", "at": "60 ms"})";
  EXPECT_EQ(two_spines(keys, faults).digest, two_spines(keys, faults).digest);
}

TEST(Sweep, the_cable_of_an_adapter_changes_no_tables) {
  const std::string down = R"({"action": "link_down", "link": "h0", "at": "200 us", "until": "5 ms"})";
  const Outcome outcome = two_spines("", down), off = two_spines(R"("sweep_time": "off", )", down);
  EXPECT_TRUE(outcome.sweeps.empty());
  EXPECT_EQ(outcome.digest, off.digest);
}

TEST(Sweep, an_engine_that_cannot_route_what_is_left_gives_way_to_minhop_or_to_the_old_tables) {
  const std::string generated = R"("generate": {"shape": "leaf_spine", "hosts": 8, "hosts_per_leaf": 2, "spines": 2, "rate": "EDR 4x"}})";
  for (const bool falls_back : {true, false}) {
    const auto spec = scenario(R"({"name": "t", "routing_engine": "ftree)" + std::string(falls_back ? "" : ",no_fallback") + "\", " + generated,
                               flow("h0", "h4", "1 MiB"), R"({"action": "link_down", "link": "leaf0:3", "at": "1 ms"})");
    ASSERT_TRUE(spec);
    const subnet::Plan plan = plan_of(spec->topology);
    EXPECT_EQ(plan.engine, subnet::Engine::kFtree);
    const Reroutes reroutes = route_changes_of(spec->topology, spec->faults, plan);
    EXPECT_EQ(reroutes.by_switch[0].size(), falls_back ? 1u : 0u);
    EXPECT_EQ(reroutes.refusals,
              std::vector<std::string>{"without leaf0:3 - spine0:1 the routing engine ftree cannot route this fabric: switch leaf1 has another number "
                                       "of switches above it than others of rank 1; name the roots, and it need not be regular; " +
                                       std::string(falls_back ? "minhop routes it" : "all switches keep their tables")});
    Diagnostics diagnostics;
    warn_of_reroutes(*spec, diagnostics);
    ASSERT_EQ(diagnostics.warnings().size(), 1u);
    EXPECT_EQ(diagnostics.warnings()[0].text, reroutes.refusals[0]);
  }
}

// Tables that the administrator shows are those of the last sweep, and a link that is down is none.
TEST(Sweep, the_administrators_records_are_those_of_the_last_sweep) {
  const auto spec = scenario(R"({"name": "t", "sweep_time": "1 ms", "generate": {"shape": "leaf_spine", "hosts": 8, "hosts_per_leaf": 4, "spines": 2, "rate": "EDR 4x"}})",
                             flow("h0", "h4", "1 KiB"), R"({"action": "link_down", "link": "leaf0:5", "at": "100 us"})");
  ASSERT_TRUE(spec);
  DefaultChoices choices;
  Simulation simulation(spec->topology, 1, choices);
  simulation.add_faults(spec->faults);
  const auto leaf0 = spec->topology.adapters.size() + static_cast<std::size_t>(std::ranges::find(spec->topology.switches, "leaf0", &SwitchSpec::name) -
                                                                               spec->topology.switches.begin());
  const management::SubnetView& view = simulation.subnet_view();
  const auto uses = [&](std::uint8_t port) { return std::ranges::count(view.node(leaf0).forwarding, port); };
  EXPECT_GT(uses(5), 0);
  simulation.engine().run_until(instant_from_ps(kMsPs));
  EXPECT_GT(uses(5), 0) << "the manager has not swept";
  EXPECT_FALSE(view.node(leaf0).ports[5].is_link_up());
  simulation.engine().run_until(instant_from_ps(kMsPs + kMsPs / 10));
  EXPECT_EQ(uses(5), 0);
}

// Trees for groups: of what is left, and legal for the engine's routes.
TEST(Sweep, packets_to_groups_have_a_tree_of_the_cables_that_are_left) {
  for (const std::string engine : {"minhop", "updn", "lash", "dfsssp"}) {
    const auto spec = scenario(R"({"name": "t", "routing_engine": ")" + engine +
                                   R"(", "generate": {"shape": "leaf_spine", "hosts": 8, "hosts_per_leaf": 2, "spines": 2, "rate": "EDR 4x"}})",
                               flow("h0", "h4", "1 MiB"), R"({"action": "link_down", "link": "leaf1:3", "at": "1 ms", "until": "9 s"})");
    ASSERT_TRUE(spec);
    const subnet::Plan plan = plan_of(spec->topology);
    const Reroutes reroutes = route_changes_of(spec->topology, spec->faults, plan);
    const auto index = [&](const std::string& name) {
      return static_cast<std::size_t>(std::ranges::find(spec->topology.switches, name, &SwitchSpec::name) -
                                      spec->topology.switches.begin());
    };
    const auto has = [](const std::vector<fabric::PortNumber>& ports, std::uint8_t port) {
      return std::ranges::find(ports, fabric::PortNumber{port}) != ports.end();
    };
    EXPECT_TRUE(has(plan.nodes[spec->topology.adapters.size() + index("leaf1")].multicast_ports, 3)) << engine;
    const std::vector<fabric::RouteChange>& changes = reroutes.by_switch[index("leaf1")];
    ASSERT_EQ(changes.size(), 2u) << engine;
    EXPECT_FALSE(has(changes[0].multicast_ports, 3)) << engine;
    EXPECT_TRUE(has(changes[0].multicast_ports, 4)) << engine;
    EXPECT_EQ(changes[1].routes, nullptr) << engine << ": as in the beginning";
  }
}

// All cables of the switch in the middle of a torus of 3 x 3 go down; flows around it go on, and its own hosts are given up.
TEST(Sweep, torus_2qos_leads_flows_around_a_failed_switch) {
  Folder folder;
  folder.write("lanes.json", R"({"profile": "switch", "name": "lanes", "virtual_lanes": 4})");
  folder.write("four.json", R"({"profile": "hca", "name": "four", "virtual_lanes": 4})");
  std::string hosts, switches, links, names, faults, flows;
  const auto comma = [](const std::string& list) { return list.empty() ? "" : ", "; };
  for (int i = 0; i < 16; ++i) {
    const std::string s = "s" + std::to_string(i), h = "h" + std::to_string(i);
    hosts += comma(hosts) + (R"({"name": ")" + h + R"(", "hca": "four"})");
    switches += comma(switches) + (R"({"name": ")" + s + R"(", "profile": "lanes"})");
    names += comma(names) + ("\"" + s + "\"");
    links += comma(links) + (R"({"a": ")" + h + R"(", "b": ")" + s + R"(:1", "rate": "EDR"})");
    const int x = i / 4, y = i % 4, right = (x + 1) % 4 * 4 + y, up = x * 4 + (y + 1) % 4;
    links += R"(, {"a": ")" + s + R"(:2", "b": "s)" + std::to_string(right) + R"(:3", "rate": "EDR"}, {"a": ")" + s + R"(:4", "b": "s)" + std::to_string(up) + R"(:5", "rate": "EDR"})";
    if (i != 5) flows += comma(flows) + flow(h, "h" + std::to_string(i == 15 || i == 4 ? 0 : i + 1), "8 MiB");
  }
  for (int port = 2; port <= 5; ++port) faults += comma(faults) + (R"({"action": "link_down", "link": "s5:)" + std::to_string(port) + R"(", "at": "200 us"})");
  folder.write("t.json", R"({"name": "t", "sweep_time": "1 ms", "routing_engine": "torus-2QoS,no_fallback", "torus_2qos": {"shape": "torus 4 4", "switches": [)" + names +
                             R"(]}, "hosts": [)" + hosts + R"(], "switches": [)" + switches + R"(], "links": [)" + links + "]}");
  Diagnostics diagnostics;
  const auto spec = load_scenario(folder.write("s.json", R"({"topology": "t.json", "flows": [)" + flows + R"(], "faults": [)" + faults + "]}"), with_profiles(), diagnostics);
  ASSERT_TRUE(spec) << text_of(diagnostics);
  const Outcome outcome = run(*spec);
  EXPECT_EQ(outcome.count(ib::WcStatus::kSuccess), 15u);
  EXPECT_EQ(outcome.sweeps.size(), 1u);
}

// Each host of a ring of four sends to the host two switches further on. Port 1 leads to the previous switch,
// and dor uses the first port.
std::string across(const std::string& bytes) {
  std::string flows;
  for (int i = 0; i < 4; ++i) flows += (i == 0 ? "" : ", ") + flow("h" + std::to_string(i) + "-0", "h" + std::to_string((i + 2) % 4) + "-0", bytes);
  return flows;
}

std::vector<std::string> deadlock_of(const ScenarioSpec& spec, std::int64_t at_ps, workload::Workload& workload) {
  DefaultChoices choices;
  Simulation simulation(spec.topology, 1, choices);
  add_traffic(simulation, spec.traffic, workload);
  simulation.engine().run_until(instant_from_ps(at_ps));
  std::vector<fabric::Port*> ports;
  for (std::size_t s = 0; s < spec.topology.switches.size(); ++s) {
    for (std::uint32_t port = 1; port <= 4; ++port)
      ports.push_back(&simulation.fabric_switch(s).port(fabric::PortNumber{static_cast<std::uint8_t>(port)}));
  }
  std::vector<std::string> names;
  for (const fabric::LoopOutput& output : fabric::find_credit_loop(ports, fabric::LoopKind::kNow))
    names.push_back(simulation.components().name(output.port->id()));
  return names;
}

TEST(Deadlock, a_ring_of_four_stops_by_routes_of_one_direction_and_one_lane) {
  const auto spec = scenario(ring_text({.more = R"(, "routing_engine": "dor")"}), across("100 MiB"));
  ASSERT_TRUE(spec);
  workload::Workload workload;
  EXPECT_EQ(deadlock_of(*spec, 50 * kMsPs, workload), (std::vector<std::string>{"port/s0:1", "port/s3:1", "port/s2:1", "port/s1:1"}));
  EXPECT_EQ(run(*spec).count(ib::WcStatus::kRetryExceeded), 4u);
}

// Where all switches of a ring of four have one host each, minhop's balance happens to close no circle.
const RingText kUneven{.hosts_at = {1, 2, 1, 2}};

std::string all_across(const std::string& bytes) {
  std::string flows;
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"h0-0", "h2-0"}, {"h2-0", "h0-0"}, {"h1-0", "h3-0"}, {"h1-1", "h3-1"}, {"h3-0", "h1-0"}, {"h3-1", "h1-1"}, {"h1-0", "h3-1"}, {"h1-1", "h3-0"},
           {"h3-0", "h1-1"}, {"h3-1", "h1-0"}})
    flows += (flows.empty() ? "" : ", ") + flow(from, to, bytes);
  return flows;
}

TEST(Deadlock, minhop_can_stop_a_ring_of_four_and_updn_cannot) {
  for (const bool is_updn : {false, true}) {
    RingText ring = kUneven;
    if (is_updn) ring.more = R"(, "routing_engine": "updn,no_fallback", "root_switches": ["s0"])";
    const auto spec = scenario(ring_text(ring), all_across("100 MiB"));
    ASSERT_TRUE(spec);
    const TopologySpec& topology = spec->topology;
    EXPECT_EQ(subnet::find_credit_loop(nodes_of(topology), cables_of(topology), plan_of(topology)).size(), is_updn ? 0u : 4u);
    workload::Workload workload;
    EXPECT_EQ(deadlock_of(*spec, 50 * kMsPs, workload).size(), is_updn ? 0u : 4u);
  }
}

TEST(Deadlock, updn_and_layers_keep_the_ring_moving) {
  for (const char* engine : {R"("updn,no_fallback", "root_switches": ["s0"])", R"("lash,no_fallback")", R"("dfsssp,no_fallback")",
                             R"("torus-2QoS,no_fallback", "torus_2qos": {"shape": "torus 4", "switches": ["s0", "s1", "s2", "s3"]})"}) {
    const auto spec = scenario(ring_text({.profile = "lanes.json", .more = R"(, "routing_engine": )" + std::string(engine)}), across("100 MiB"));
    ASSERT_TRUE(spec);
    workload::Workload workload;
    EXPECT_EQ(deadlock_of(*spec, 50 * kMsPs, workload), std::vector<std::string>{}) << engine;
    EXPECT_EQ(run(*spec).count(ib::WcStatus::kSuccess), 4u) << engine;
  }
}

// The levels of path records make the difference: without them packets of dor's one direction share a lane.
TEST(Deadlock, flows_have_the_level_of_their_path_unless_they_say_another) {
  const std::string five = ring_text({.switches = 5, .profile = "lanes.json", .more = R"(, "routing_engine": "lash,no_fallback")"});
  std::string flows, level0;
  for (int i = 0; i < 5; ++i) {
    const std::string from = "h" + std::to_string(i) + "-0", to = "h" + std::to_string((i + 3) % 5) + "-0";
    flows += (i == 0 ? "" : ", ") + flow(from, to, "100 MiB");
    level0 += (i == 0 ? "" : ", ") + flow(from, to, "100 MiB", R"(, "service_level": 0)");
  }
  workload::Workload workload, stuck;
  const auto by_path = scenario(five, flows), by_zero = scenario(five, level0);
  ASSERT_TRUE(by_path && by_zero);
  EXPECT_TRUE(deadlock_of(*by_path, 50 * kMsPs, workload).empty());
  EXPECT_EQ(deadlock_of(*by_zero, 50 * kMsPs, stuck).size(), 5u);
}

TEST(Paths, records_have_the_level_of_the_routing_engine_and_of_the_last_sweep) {
  Engine engine;
  std::vector<cm::PortFacts> ports(2);
  for (std::uint16_t i = 0; i < 2; ++i) {
    ports[i].lid = ib::Lid{static_cast<std::uint16_t>(i + 1)};
    ports[i].gids = {subnet::link_local_gid(std::uint64_t{100} + i)};
    ports[i].pkeys = {ib::kDefaultPkey};
  }
  const auto levels_of = [](std::uint8_t level) {
    auto levels = std::make_shared<subnet::ServiceLevels>(std::vector<std::uint32_t>{7, 0, 1}, 2);
    levels->set(0, 1, level);
    return levels;
  };
  SubnetPaths paths(engine, ports, levels_of(3));
  paths.set_changes({{instant_from_ps(10), levels_of(5), {}},
                     {instant_from_ps(20), nullptr, {}},
                     {instant_from_ps(30), nullptr, {0, 4, 5}}});
  const auto level = [&](std::size_t from, std::size_t to) {
    return paths.find(ports[from].gids[0], ports[to].gids[0], std::nullopt)->service_level;
  };
  EXPECT_EQ(level(0, 1), 3);
  EXPECT_EQ(level(1, 0), 0);
  engine.run_until(instant_from_ps(10));
  EXPECT_EQ(level(0, 1), 5);
  engine.run_until(instant_from_ps(20));
  EXPECT_EQ(level(0, 1), 0);
  engine.run_until(instant_from_ps(30));
  EXPECT_FALSE(paths.find(ports[0].gids[0], ports[1].gids[0], std::nullopt)) << "no cables lead there any more";
}

}  // namespace
}  // namespace sweep
}  // namespace verbatim::config

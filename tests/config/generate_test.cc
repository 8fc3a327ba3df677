// Generated topologies equal hand-written ones, and impossible shapes have findings.
#include <gtest/gtest.h>

#include <set>

#include "sim/config/cabling.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

std::optional<TopologySpec> load(const std::string& text, std::string* findings = nullptr) {
  const Folder folder;
  Diagnostics diagnostics;
  const auto topology = load_topology(folder.write("t.json", text), with_profiles(), diagnostics);
  if (findings != nullptr) {
    *findings = text_of(diagnostics);
  } else {
    EXPECT_TRUE(diagnostics.empty()) << text_of(diagnostics);
  }
  return topology;
}

TopologySpec shipped(const std::string& name) {
  Diagnostics diagnostics;
  const auto topology =
      load_topology(VERBATIM_SOURCE_DIR "/topologies/" + name + ".json", with_profiles(), diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << text_of(diagnostics);
  return topology.value_or(TopologySpec{});
}

TEST(GenerateTest, a_star_has_one_switch_with_a_port_for_each_host) {
  const TopologySpec star = shipped("star_8");
  ASSERT_EQ(star.hosts.size(), 8u);
  EXPECT_EQ(star.hosts[0].name, "h0");
  EXPECT_EQ(star.hosts[7].name, "h7");
  ASSERT_EQ(star.switches.size(), 1u);
  EXPECT_EQ(star.switches[0].ports, 8u);
  EXPECT_EQ(star.links.size(), 8u);
  EXPECT_EQ(route(star, plan_of(star), 0, 7), (std::vector<std::string>{"leaf0:1", "leaf0:8", "h7:1"}));
}

TEST(GenerateTest, each_rail_has_leaves_of_its_own) {
  const TopologySpec fabric = shipped("rails_4");
  ASSERT_EQ(fabric.hosts.size(), 4u);
  ASSERT_EQ(fabric.adapters.size(), 8u);
  EXPECT_EQ(fabric.adapters[4].name, "h0/mlx5_1");
  EXPECT_EQ(fabric.adapters_of(3), (std::vector<std::size_t>{3, 7}));
  const subnet::Plan plan = plan_of(fabric);
  EXPECT_EQ(route(fabric, plan, 0, 3), (std::vector<std::string>{"leaf0:1", "leaf0:4", "h3:1"}));
  EXPECT_EQ(route(fabric, plan, 4, 7), (std::vector<std::string>{"leaf1:1", "leaf1:4", "h3/mlx5_1:1"}));
  EXPECT_EQ(route(fabric, plan, 0, 7),
            (std::vector<std::string>{"leaf0:1", "leaf0:5", "spine0:1", "spine0:2", "leaf1:5", "leaf1:4", "h3/mlx5_1:1"}));
}

TEST(GenerateTest, sixteen_hosts_reach_each_other_over_two_spines) {
  for (const char* name : {"leaf_spine_16", "leaf_spine_16_roce"}) {
    const TopologySpec fabric = shipped(name);
    ASSERT_EQ(fabric.hosts.size(), 16u);
    EXPECT_EQ(fabric.hosts[15].name, "h15");
    EXPECT_EQ(fabric.switches.size(), 6u);
    EXPECT_EQ(fabric.links.size(), 16u + 4 * 2 * 2);
    const subnet::Plan plan = plan_of(fabric);
    std::set<std::string> spines;
    for (std::size_t from = 0; from < 16; ++from) {
      for (std::size_t to = 0; to < 16; ++to) {
        if (from == to) continue;
        const auto hops = route(fabric, plan, from, to);
        EXPECT_EQ(hops.size(), from / 4 == to / 4 ? 3u : 7u) << from << " to " << to;
        if (hops.size() == 7) spines.insert(hops[2]);
      }
    }
    EXPECT_EQ(spines.size(), 16u) << "every cable between leaves and spines carries something";
  }
}

TopologySpec fat_tree(std::uint32_t hosts, const std::string& more = "") {
  std::string findings;
  const auto topology =
      load(R"({"name": "t", "generate": {"shape": "fat_tree", "rate": "EDR", "hosts": )" + std::to_string(hosts) + "}" + more + "}", &findings);
  EXPECT_EQ(findings, "");
  return topology.value_or(TopologySpec{});
}

// k = 4: 16 hosts in four pods of two leaves and two aggregation switches each, over four cores.
TEST(GenerateTest, a_fat_tree_has_three_tiers_of_equal_switches) {
  const TopologySpec tree = fat_tree(16);
  ASSERT_EQ(tree.hosts.size(), 16u);
  EXPECT_EQ(tree.switches.size(), 20u);
  EXPECT_EQ(tree.links.size(), 16u + 16 + 16);
  for (const SwitchSpec& one : tree.switches) EXPECT_EQ(one.ports, 4u) << one.name;
  const subnet::Plan plan = plan_of(tree);
  EXPECT_EQ(route(tree, plan, 0, 1), (std::vector<std::string>{"leaf0:1", "leaf0:2", "h1:1"}));
  const auto in_pod = route(tree, plan, 0, 3);
  ASSERT_EQ(in_pod.size(), 7u) << "leaf, aggregation switch, leaf, host";
  EXPECT_TRUE(in_pod[2] == "agg0:1" || in_pod[2] == "agg1:1") << in_pod[2];
  EXPECT_EQ(in_pod[4].substr(0, 6), "leaf1:");
  const auto across = route(tree, plan, 0, 13);
  ASSERT_EQ(across.size(), 11u) << "leaf, aggregation switch, core, aggregation switch, leaf, host";
  EXPECT_EQ(across[4].substr(0, 4), "core");
  EXPECT_EQ(across[4].substr(5), ":1") << "the core's port to pod 0";
  EXPECT_EQ(across[5].substr(5), ":4") << "to pod 3";
  EXPECT_EQ(across[8].substr(0, 6), "leaf6:");
}

TEST(GenerateTest, a_fat_tree_may_have_empty_places) {
  const TopologySpec tree = fat_tree(17);
  EXPECT_EQ(tree.hosts.size(), 17u);
  EXPECT_EQ(tree.switches.size(), 5u * 36 / 4) << "k = 6";
  EXPECT_EQ(tree.links.size(), 17u + 54 + 54);
}

// 11,664 hosts have LIDs, addresses and names of their own.
TEST(GenerateTest, a_fat_tree_of_thousands_of_hosts_is_well_formed) {
  for (const char* layer : {R"(, "link_layer": "infiniband")", R"(, "link_layer": "roce")"}) {
    const TopologySpec tree = fat_tree(11'664, layer);
    EXPECT_EQ(tree.switches.size(), 5u * 36 * 36 / 4);
    EXPECT_EQ(tree.links.size(), 3u * 11'664);
    EXPECT_EQ(tree.hosts.back().address, (10u << 24) + 11'664);
  }
}

// Steps of planning for each entry of the switches' tables. The search for shortest paths takes 5 steps an
// entry at any size of the tree: (5k²/4)² k steps, as it starts at every switch and follows all cables, for
// 5k²/4 · k³/4 entries. The least loaded of k/2 equal ports is found by checking each. Bound: twice that.
TEST(GenerateTest, planning_routes_takes_steps_in_proportion_to_the_tables) {
  for (const std::uint64_t k : {4, 8, 16}) {
    for (const char* layer : {R"(, "link_layer": "infiniband")", R"(, "link_layer": "roce")"}) {
      const TopologySpec tree = fat_tree(static_cast<std::uint32_t>(k * k * k / 4), layer);
      const subnet::Plan plan = plan_of(tree);
      const std::uint64_t entries = tree.switches.size() * (tree.hosts.size() + tree.switches.size());
      EXPECT_LT(plan.steps, entries * 2 * (5 + k / 2)) << "k = " << k;
    }
  }
}

// Planning keeps 16 bits for each destination and switch, and each set of ports once.
TEST(GenerateTest, switches_of_a_fat_tree_have_one_set_of_equal_ports) {
  const TopologySpec tree = fat_tree(1024, R"(, "link_layer": "roce")");
  const subnet::Plan plan = plan_of(tree);
  for (std::size_t s = 0; s < tree.switches.size(); ++s) {
    const fabric::RouteTable& routes = *plan.nodes[tree.adapters.size() + s].routes;
    std::set<fabric::RouteTable::Entry> sets;
    for (std::size_t lid = 1; lid < routes.size(); ++lid) {
      if (fabric::RouteTable::is_set(routes.entry(lid))) sets.insert(routes.entry(lid));
    }
    EXPECT_EQ(sets.size(), tree.switches[s].name.starts_with("core") ? 0u : 1u) << tree.switches[s].name;
  }
}

// On Ethernet all four cables of a leaf lead to any host of another leaf.
TEST(GenerateTest, an_ethernet_switch_knows_every_way_of_the_shortest_length) {
  const TopologySpec fabric = shipped("leaf_spine_16_roce");
  const subnet::Plan plan = plan_of(fabric);
  for (std::size_t s = 0; s < fabric.switches.size(); ++s) {
    const bool is_leaf = fabric.switches[s].name.starts_with("leaf");
    const fabric::RouteTable& routes = *plan.nodes[fabric.adapters.size() + s].routes;
    for (std::size_t i = 0; i < fabric.adapters.size(); ++i) {
      const ib::MacAddress mac = plan.nodes[i].ports[0].mac;
      const std::size_t ports = routes.ports_to(mac.value - subnet::kMacBase.value).size();
      EXPECT_TRUE(ports == (is_leaf ? 1u : 2u) || (is_leaf && ports == 4u));
    }
  }
}

TEST(GenerateTest, addresses_on_ethernet_follow_from_mac_and_ip_addresses) {
  const TopologySpec two = shipped("two_hosts_roce");
  const auto gids = gids_of(two, plan_of(two), 0);
  ASSERT_EQ(gids.size(), 3u);
  // `client` sorts before `server`, host 0: MAC 02:56:42:00:00:02, and 10.0.0.1.
  const std::uint8_t link_local[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x00, 0x56, 0x42, 0xff, 0xfe, 0, 0, 2};
  const std::uint8_t ipv4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
  EXPECT_TRUE(std::equal(link_local, link_local + 16, gids[0].raw));
  EXPECT_TRUE(std::equal(ipv4, ipv4 + 16, gids[1].raw));
  const std::uint8_t ipv6[16] = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1};
  EXPECT_TRUE(std::equal(ipv6, ipv6 + 16, gids[2].raw));
}

TEST(GenerateTest, generated_and_written_parts_join) {
  std::string findings;
  const auto topology = load(R"({"name": "t",
      "generate": {"shape": "leaf_spine", "hosts": 2, "hosts_per_leaf": 1, "spines": 1, "rate": "EDR"},
      "hosts": [{"name": "extra"}], "switches": [{"name": "edge", "ports": 4}],
      "links": [{"a": "extra", "b": "edge:1", "rate": "EDR"}, {"a": "h2", "b": "edge:2", "rate": "EDR"}]})",
                             &findings);
  EXPECT_FALSE(topology);
  EXPECT_NE(findings.find("there is no host or switch \"h2\""), std::string::npos) << findings;
}

TEST(GenerateTest, what_cannot_be_built_is_said) {
  std::string findings;
  EXPECT_FALSE(
      load(R"({"name": "t", "generate": {"shape": "star", "hosts": 300, "rate": "EDR"}})", &findings));
  EXPECT_EQ(findings,
            "/generate: a switch of this \"star\" would have 300 ports; a switch has at most 254 ports; ask for fewer hosts or "
            "cables\n");
  EXPECT_FALSE(load(R"({"name": "t", "generate": {"shape": "fat_tree", "hosts": 16, "rails": 2, "rate": "EDR"}})", &findings));
  EXPECT_EQ(findings,
            "/generate: hosts of a \"fat_tree\" have one adapter each; leave \"rails\" out, or choose the shape "
            "\"leaf_spine\"\n");
  EXPECT_FALSE(load(R"({"name": "t", "generate": {"shape": "ring", "hosts": 3, "rate": "EDR"}})", &findings));
  EXPECT_NE(findings.find("/generate/shape"), std::string::npos) << findings;
  EXPECT_FALSE(load(R"({"name": "t", "generate": {"shape": "star", "hosts": 2, "rate": "EDR"},
                        "switches": [{"name": "h1"}]})",
                    &findings));
  EXPECT_NE(findings.find("the name \"h1\" is already that of"), std::string::npos) << findings;
}

}  // namespace
}  // namespace verbatim::config

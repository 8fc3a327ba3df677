// Generated shapes compared to closed forms: numbers of nodes and cables, distances, names.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "sim/config/cabling.h"
#include "tests/config/helpers.h"

namespace verbatim::config {
namespace {

std::string text_with(const std::string& keys, const std::string& more = "") {
  return R"({"name": "t", "generate": {"rate": "EDR", )" + keys + "}" + more + "}";
}

TopologySpec built(const std::string& keys, const std::string& more = "") {
  const Folder folder;
  Diagnostics diagnostics;
  const auto topology = load_topology(folder.write("t.json", text_with(keys, more)), with_profiles(), diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << keys << more << "\n" << text_of(diagnostics);
  return topology.value_or(TopologySpec{});
}

std::string refused(const std::string& keys, const std::string& more = "") {
  return topology_findings(text_with(keys, more));
}

const SwitchSpec& switch_named(const TopologySpec& topology, const std::string& name) {
  const auto found = std::ranges::find(topology.switches, name, &SwitchSpec::name);
  EXPECT_NE(found, topology.switches.end()) << name;
  return found == topology.switches.end() ? topology.switches.front() : *found;
}

std::vector<const LinkSpec*> links_between(const TopologySpec& topology, const std::string& a, const std::string& b) {
  std::vector<const LinkSpec*> found;
  for (const LinkSpec& link : topology.links) {
    const std::string ends[] = {topology.node_name(link.end_a), topology.node_name(link.end_b)};
    if ((ends[0] == a && ends[1] == b) || (ends[0] == b && ends[1] == a)) found.push_back(&link);
  }
  return found;
}

std::vector<std::set<std::size_t>> neighbours(const TopologySpec& topology) {
  std::vector<std::set<std::size_t>> of(topology.switches.size());
  for (const LinkSpec& link : topology.links) {
    if (!link.end_a.is_switch || !link.end_b.is_switch) continue;
    of[link.end_a.node].insert(link.end_b.node);
    of[link.end_b.node].insert(link.end_a.node);
  }
  return of;
}

// The largest number of cables between switches on a shortest path between two hosts.
std::size_t diameter(const TopologySpec& topology) {
  const auto next = neighbours(topology);
  std::set<std::size_t> with_hosts;
  for (const LinkSpec& link : topology.links) {
    if (link.end_a.is_switch != link.end_b.is_switch)
      with_hosts.insert(link.end_a.is_switch ? link.end_a.node : link.end_b.node);
  }
  std::size_t most = 0;
  for (const std::size_t from : with_hosts) {
    std::vector<std::size_t> far(topology.switches.size(), SIZE_MAX);
    std::queue<std::size_t> open({from});
    far[from] = 0;
    for (; !open.empty(); open.pop()) {
      for (const std::size_t to : next[open.front()]) {
        if (far[to] != SIZE_MAX) continue;
        far[to] = far[open.front()] + 1;
        open.push(to);
      }
    }
    for (const std::size_t to : with_hosts) most = std::max(most, far[to]);
  }
  return most;
}

// The number of cables between switches for which `is_inside` is true for one end only.
template <class IsInside>
std::size_t cables_across(const TopologySpec& topology, IsInside is_inside) {
  return static_cast<std::size_t>(std::ranges::count_if(topology.links, [&](const LinkSpec& link) {
    return link.end_a.is_switch && link.end_b.is_switch &&
           is_inside(topology.node_name(link.end_a)) != is_inside(topology.node_name(link.end_b));
  }));
}

struct ClosedForm {
  const char* keys;
  std::size_t hosts, switches, links, ports_max, diameter;
};
const ClosedForm kForms[] = {
    // k = 4: k³/4 hosts, 5k²/4 switches, 3k³/4 cables.
    {R"("shape": "fat_tree", "hosts": 16, "k": 4)", 16, 20, 48, 4, 4},
    // Only pods with hosts are generated: two of eight, each with four leaf and four aggregation switches,
    // and 16 core switches.
    {R"("shape": "fat_tree", "hosts": 32, "k": 8)", 32, 32, 32 + 32 + 32, 8, 4},
    // k/2 spines, k leaves, k²/2 hosts.
    {R"("shape": "fat_tree", "hosts": 32, "k": 8, "tiers": 2)", 32, 12, 64, 8, 2},
    {R"("shape": "fat_tree", "hosts": 30, "tiers": 2)", 30, 12, 62, 8, 2},
    // Bundles of two cables halve the numbers of leaves and spines.
    {R"("shape": "fat_tree", "hosts": 16, "k": 8, "tiers": 2, "cables": 2)", 16, 6, 16 + 4 * 2 * 2, 8, 2},
    // 2:1 with k = 6: leaf and aggregation switches have four ports down and two up; 6 pods of 4 leaf and 2
    // aggregation switches.
    {R"("shape": "fat_tree", "hosts": 96, "k": 6, "oversubscription": "2:1")", 96, 6 * 6 + 4, 96 + 6 * 4 * 2 + 6 * 2 * 2, 6,
     4},
    // 3:1 at the leaves only: 6 hosts per leaf; 8 pods of 4 leaf and 2 aggregation switches; 8 core switches.
    {R"("shape": "fat_tree", "hosts": 192, "k": 8, "per_tier": {"leaf": {"oversubscription": "3"}})", 192, 8 * 6 + 8,
     192 + 8 * 8 + 8 * 8, 8, 4},
    // Two groups of four hosts with two adapters each: two leaves per group, four spines.
    {R"("shape": "rail", "hosts": 8, "rails": 2, "hosts_per_leaf": 4)", 8, 4 + 4, 16 + 16, 8, 2},
    {R"("shape": "rail", "hosts": 8, "rails": 2, "hosts_per_leaf": 4, "oversubscription": "2:1")", 8, 4 + 2, 16 + 8, 6, 2},
    // a(ah + 1) routers; g·a(a - 1)/2 cables within groups and g(g - 1)/2 between them.
    {R"("shape": "dragonfly", "hosts": 72, "a": 4, "p": 2, "h": 2)", 72, 36, 72 + 9 * 6 + 36, 7, 3},
    {R"("shape": "dragonfly", "hosts": 72)", 72, 36, 72 + 9 * 6 + 36, 7, 3},
    // Three groups: any two are joined by four cables, one from every router, so no hop within the first
    // group is needed.
    {R"("shape": "dragonfly", "hosts": 24, "a": 4, "p": 2, "h": 2, "groups": 3)", 24, 12, 24 + 3 * 6 + 3 * 4, 7, 2},
    {R"("shape": "dragonfly_plus", "hosts": 20, "leaves_per_group": 2, "spines_per_group": 2, "p": 2, "h": 2)", 20, 20,
     20 + 5 * 4 + 10, 4, 3},
    {R"("shape": "dragonfly_plus", "hosts": 20)", 20, 20, 20 + 5 * 4 + 10, 4, 3},
    // Rows of four have four cables, rows of two one.
    {R"("shape": "torus", "hosts": 32, "dimensions": "4x4x2")", 32, 32, 32 + 32 + 32 + 16, 7, 2 + 2 + 1},
    {R"("shape": "torus", "hosts": 30, "dimensions": "4x4m", "hosts_per_switch": 2)", 30, 16, 30 + 16 + 12, 6, 2 + 3},
    {R"("shape": "torus", "hosts": 9, "dimensions": "3x3", "cables": 2)", 9, 9, 9 + 2 * 18, 9, 2},
    // Rows of n have n(n - 1)/2 cables.
    {R"("shape": "hyperx", "hosts": 12, "dimensions": "4x3")", 12, 12, 12 + 3 * 6 + 4 * 3, 6, 2},
    {R"("shape": "hyperx", "hosts": 32, "dimensions": "4x4", "cables": 2)", 32, 16, 32 + 2 * 48, 2 + 2 * 6, 2},
};

TEST(Shapes, have_the_parts_of_their_closed_forms) {
  for (const ClosedForm& form : kForms) {
    const TopologySpec topology = built(form.keys);
    EXPECT_EQ(topology.hosts.size(), form.hosts) << form.keys;
    EXPECT_EQ(topology.switches.size(), form.switches) << form.keys;
    EXPECT_EQ(topology.links.size(), form.links) << form.keys;
    std::uint32_t most = 0;
    for (const SwitchSpec& one : topology.switches) most = std::max(most, one.ports);
    EXPECT_EQ(most, form.ports_max) << form.keys;
    EXPECT_EQ(diameter(topology), form.diameter) << form.keys;
  }
}

TEST(Shapes, every_host_reaches_every_other_by_both_link_layers) {
  for (const ClosedForm& form : kForms) {
    for (const char* layer : {R"(, "link_layer": "infiniband")", R"(, "link_layer": "roce")"}) {
      const TopologySpec topology = built(form.keys, layer);
      const subnet::Plan plan = plan_of(topology);
      for (std::size_t from = 0; from < topology.adapters.size(); ++from) {
        for (std::size_t to = 0; to < topology.adapters.size(); ++to) {
          if (from == to) continue;
          const auto hops = route(topology, plan, from, to);
          ASSERT_FALSE(hops.empty()) << form.keys << " " << from << " to " << to;
          ASSERT_EQ(hops.back(), topology.adapters[to].name + ":1") << form.keys << " " << from << " to " << to;
        }
      }
    }
  }
}

// A bisection divides the hosts in half.
TEST(Shapes, have_the_bisection_of_their_closed_forms) {
  const auto begins = [](const std::vector<std::string>& words) {
    return [words](const std::string& name) {
      return std::ranges::any_of(words, [&](const std::string& word) { return name.starts_with(word); });
    };
  };
  // Each pod has k²/4 = 16 cables to core switches; each half contains half of the core switches, which are
  // joined to all pods.
  const TopologySpec tree = built(R"("shape": "fat_tree", "hosts": 128, "k": 8, "names": "place")");
  EXPECT_EQ(cables_across(tree, begins({"pod0", "pod1", "pod2", "pod3", "plane0", "plane1"})), 128u / 2);
  const TopologySpec torus = built(R"("shape": "torus", "hosts": 32, "dimensions": "4x4x2")");
  EXPECT_EQ(cables_across(torus, begins({"sw-0", "sw-1"})), 2u * 4 * 2);
  const TopologySpec hyperx = built(R"("shape": "hyperx", "hosts": 12, "dimensions": "4x3")");
  EXPECT_EQ(cables_across(hyperx, begins({"sw-0", "sw-1"})), 3u * 2 * 2);
  const TopologySpec dragonfly = built(R"("shape": "dragonfly", "hosts": 72, "a": 4, "p": 2, "h": 2)");
  for (int g = 0; g < 9; ++g) EXPECT_EQ(cables_across(dragonfly, begins({"group" + std::to_string(g)})), 8u);
  EXPECT_EQ(cables_across(dragonfly, begins({"group0", "group1", "group2", "group3"})), 4u * 5);
}

TEST(Shapes, groups_are_joined_pair_by_pair) {
  const TopologySpec topology = built(R"("shape": "dragonfly", "hosts": 40, "a": 4, "p": 2, "h": 2, "groups": 5)");
  std::map<std::pair<std::string, std::string>, int> pairs;
  for (const LinkSpec& link : topology.links) {
    if (!link.end_a.is_switch || !link.end_b.is_switch) continue;
    std::string a = topology.node_name(link.end_a).substr(0, 6), b = topology.node_name(link.end_b).substr(0, 6);
    if (a != b) ++pairs[std::minmax(a, b)];
  }
  EXPECT_EQ(pairs.size(), 10u);
  for (const auto& [pair, count] : pairs) EXPECT_EQ(count, 2) << pair.first << " " << pair.second;
}

TEST(Shapes, names_show_the_place) {
  const auto has = [](const std::string& keys, const std::vector<std::string>& names) {
    const TopologySpec topology = built(keys);
    for (const std::string& name : names) {
      EXPECT_TRUE(std::ranges::any_of(topology.switches, [&](const SwitchSpec& one) { return one.name == name; }) ||
                  topology.host(name))
          << keys << " has no " << name;
    }
  };
  has(R"("shape": "fat_tree", "hosts": 16, "k": 4, "names": "place")", {"pod3-leaf1", "pod0-agg1", "plane1-core0", "h15"});
  has(R"("shape": "fat_tree", "hosts": 16, "k": 4)", {"leaf7", "agg1", "core3", "h15"});
  has(R"("shape": "fat_tree", "hosts": 16, "k": 4, "names": "place", "host_names": "place")", {"pod3-leaf1-h1"});
  has(R"("shape": "leaf_spine", "hosts": 8, "rails": 2, "names": "place")", {"rail1-leaf1", "spine1", "h7"});
  has(R"("shape": "rail", "hosts": 8, "rails": 2, "hosts_per_leaf": 4, "host_names": "place")",
      {"group1-rail0", "spine3", "group1-h3"});
  has(R"("shape": "dragonfly", "hosts": 72)", {"group2-router3", "h71"});
  has(R"("shape": "dragonfly", "hosts": 72, "names": "number")", {"router35"});
  has(R"("shape": "dragonfly_plus", "hosts": 20)", {"group4-leaf1", "group4-spine1"});
  has(R"("shape": "torus", "hosts": 32, "dimensions": "4x4x2", "host_names": "place")",
      {"sw-1-2-0", "sw-3-3-1", "sw-3-3-1-h0"});
  has(R"("shape": "hyperx", "hosts": 12, "dimensions": "4x3", "names": "number", "host_prefix": "node")",
      {"sw11", "node11"});
}

// All switches use the same port numbers for a dimension and direction.
TEST(Shapes, ports_of_a_grid_go_by_dimension) {
  const TopologySpec torus = built(R"("shape": "torus", "hosts": 32, "dimensions": "4x4x2")");
  for (const auto& [a, b, port_a, port_b] :
       {std::tuple("sw-1-2-0", "sw-2-2-0", 3u, 2u), std::tuple("sw-3-2-0", "sw-0-2-0", 3u, 2u),
        std::tuple("sw-1-3-0", "sw-1-0-0", 5u, 4u), std::tuple("sw-1-2-0", "sw-1-2-1", 7u, 6u)}) {
    const auto links = links_between(torus, a, b);
    ASSERT_EQ(links.size(), 1u) << a << " " << b;
    EXPECT_EQ(links[0]->end_a.port, port_a) << a;
    EXPECT_EQ(links[0]->end_b.port, port_b) << b;
  }
}

TEST(Shapes, the_engine_for_tori_knows_the_torus) {
  const TopologySpec torus =
      built(R"("shape": "torus", "hosts": 12, "dimensions": "4x3m")", R"(, "routing_engine": "torus-2QoS,minhop")");
  EXPECT_EQ(torus.torus_2qos.shape, "torus 4 3m");
  ASSERT_EQ(torus.torus_2qos.switches.size(), 12u);
  EXPECT_EQ(torus.torus_2qos.switches[4], "sw-1-1");
  EXPECT_EQ(torus.routing.torus.switches.size(), 12u);
}

TEST(Shapes, tiers_have_rates_lengths_and_profiles_of_their_own) {
  const TopologySpec tree =
      built(R"("shape": "fat_tree", "hosts": 16, "k": 4, "names": "place", "length": "3 m", "switch": "switch_ib2",
      "per_tier": {"host": {"length": "1 m"}, "leaf": {"switch": "edr_switch"}, "agg": {"rate": "HDR", "length": "30 m", "switch": "quantum"}})");
  EXPECT_EQ(switch_named(tree, "pod0-leaf0").profile, "edr_switch");
  EXPECT_EQ(switch_named(tree, "pod0-agg0").profile, "quantum");
  EXPECT_EQ(switch_named(tree, "plane0-core0").profile, "switch_ib2");
  const auto length = [&](const char* a, const char* b) { return links_between(tree, a, b).at(0)->length_mm; };
  EXPECT_EQ(length("h0", "pod0-leaf0"), 1'000);
  EXPECT_EQ(length("pod0-leaf0", "pod0-agg1"), 3'000);
  EXPECT_EQ(length("pod0-agg0", "plane0-core0"), 30'000);
  EXPECT_EQ(links_between(tree, "pod0-agg0", "plane0-core0")[0]->rate.speed, "HDR");
  EXPECT_EQ(links_between(tree, "pod0-leaf0", "pod0-agg0")[0]->rate.speed, "EDR");
}

const std::string kTree = R"("shape": "fat_tree", "hosts": 16, "k": 4, "names": "place")";

TEST(Overrides, a_host_sets_the_keys_that_it_has_and_keeps_its_place) {
  const TopologySpec tree = built(kTree, R"(, "hosts": [{"name": "extra"}, {"name": "h3", "hca": "connectx6_hdr"}],
      "links": [{"a": "extra", "b": "sw:1", "rate": "EDR"}, {"a": "sw:2", "b": "pod0-leaf0:5", "rate": "EDR"}],
      "switches": [{"name": "sw"}, {"name": "pod0-leaf0", "ports": 6}])");
  EXPECT_EQ(tree.hosts.size(), 17u);
  EXPECT_EQ(tree.hosts[0].name, "extra");
  ASSERT_TRUE(tree.host("h3"));
  const HostSpec& changed = tree.hosts[*tree.host("h3")];
  EXPECT_EQ(changed.hca, "connectx6_hdr");
  EXPECT_EQ(changed.pointer, "/hosts/1");
  EXPECT_EQ(changed.address, (10u << 24) + 5) << "behind extra, h0, h1 and h2";
  EXPECT_EQ(tree.hosts[*tree.host("h2")].hca, "edr_hca");
  EXPECT_EQ(switch_named(tree, "pod0-leaf0").ports, 6u);
  EXPECT_EQ(tree.switches.size(), 21u);
}

TEST(Overrides, a_switch_keeps_its_ports_unless_it_has_others) {
  const TopologySpec tree = built(kTree, R"(, "switches": [{"name": "plane0-core0", "profile": "quantum"}])");
  EXPECT_EQ(switch_named(tree, "plane0-core0").profile, "quantum");
  EXPECT_EQ(switch_named(tree, "plane0-core0").ports, 4u);
  EXPECT_EQ(tree.switches.size(), 20u);
}

TEST(Overrides, a_link_is_found_by_its_ends_in_either_order) {
  const TopologySpec tree =
      built(kTree, R"(, "links": [{"a": "pod0-agg1", "b": "pod0-leaf0", "rate": "QDR", "length": "9 m"},
      {"a": "pod1-leaf0:1", "b": "h4", "rate": "FDR"}])");
  EXPECT_EQ(tree.links.size(), 48u);
  const auto changed = links_between(tree, "pod0-leaf0", "pod0-agg1");
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0]->rate.speed, "QDR");
  EXPECT_EQ(changed[0]->length_mm, 9'000);
  EXPECT_EQ(changed[0]->a.substr(0, 9), "pod0-agg1");
  EXPECT_EQ(links_between(tree, "h4", "pod1-leaf0").at(0)->rate.speed, "FDR");
  EXPECT_EQ(links_between(tree, "pod0-leaf0", "pod0-agg0").at(0)->rate.speed, "EDR");
}

TEST(Overrides, ends_without_ports_are_all_cables_side_by_side) {
  const std::string keys = R"("shape": "torus", "hosts": 9, "dimensions": "3x3", "cables": 2)";
  const TopologySpec both = built(keys, R"(, "links": [{"a": "sw-0-0", "b": "sw-0-1", "rate": "QDR"}])");
  for (const LinkSpec* link : links_between(both, "sw-0-0", "sw-0-1")) EXPECT_EQ(link->rate.speed, "QDR");
  const std::string port = both.links[0].a.empty() ? "" : links_between(both, "sw-0-0", "sw-0-1").at(1)->a;
  const TopologySpec one = built(keys, R"(, "links": [{"a": ")" + port + R"(", "b": "sw-0-1", "rate": "QDR"}])");
  std::vector<std::string> speeds;
  for (const LinkSpec* link : links_between(one, "sw-0-0", "sw-0-1")) speeds.emplace_back(link->rate.speed);
  std::ranges::sort(speeds);
  EXPECT_EQ(speeds, (std::vector<std::string>{"EDR", "QDR"}));
}

TEST(Overrides, further_adapters_are_set_in_order) {
  const TopologySpec rails = built(R"("shape": "rail", "hosts": 4, "rails": 3)",
                                   R"(, "hosts": [{"name": "h1", "further_adapters": [{"hca": "connectx5"}]}])");
  const HostSpec& host = rails.hosts[*rails.host("h1")];
  ASSERT_EQ(host.further_adapters.size(), 2u);
  EXPECT_EQ(host.further_adapters[0].hca, "connectx5");
  EXPECT_EQ(host.further_adapters[0].device, "mlx5_1");
  EXPECT_EQ(host.further_adapters[1].hca, "edr_hca");
}

TEST(Overrides, what_does_not_fit_the_shape_is_refused) {
  EXPECT_EQ(
      refused(kTree, R"(, "switches": [{"name": "pod0-leaf0", "ports": 3}])"),
      "/switches/0/ports: the shape gives \"pod0-leaf0\" 4 ports, and this is fewer; leave \"ports\" out, or write more\n");
  EXPECT_EQ(
      refused(R"("shape": "rail", "hosts": 4, "rails": 2)",
              R"(, "hosts": [{"name": "h1", "further_adapters": [{"device": "b"}]}])"),
      "/hosts/0/further_adapters/0/device: the cables of the shape know this adapter as \"mlx5_1\"; leave the name out\n");
  EXPECT_EQ(refused(kTree, R"(, "hosts": [{"name": "h1"}, {"name": "h1"}])"),
            "/hosts/1/name: the name \"h1\" is already that of /hosts/0; give every host and switch a name of its own\n");
  EXPECT_EQ(
      refused(kTree, R"(, "links": [{"a": "h1", "b": "pod3-leaf0:1", "rate": "EDR"}])"),
      "/links/0/a: the shape has a cable from \"h1\" to \"pod0-leaf0:2\"; name both ends of that cable to change it, or use another port\n"
      "/links/0/b: the shape has a cable from \"pod3-leaf0:1\" to \"h12\"; name both ends of that cable to change it, or use another "
      "port\n");
}

TEST(Shapes, what_cannot_be_built_is_refused) {
  const std::pair<const char*, const char*> kRefusals[] = {
      {R"("shape": "fat_tree", "hosts": 16, "k": 7)",
       "/generate/k: 7 ports of a switch cannot be divided 1:1 between down and up; choose a multiple of 2\n"},
      {R"("shape": "fat_tree", "hosts": 17, "k": 4)",
       "/generate/hosts: 17 hosts are too many: this \"fat_tree\" has places for 16; ask for fewer hosts, or raise \"k\"\n"},
      {R"("shape": "fat_tree", "hosts": 43904, "tiers": 2)",
       "/generate/hosts: 43904 hosts are too many: this \"fat_tree\" has places for at most 32258; ask for fewer hosts, or for 3 "
       "\"tiers\"\n"},
      {R"("shape": "fat_tree", "hosts": 16, "k": 8, "cables": 3)",
       "/generate/k: 4 ports of a leaf upwards cannot be divided into bundles of 3 cables; choose another \"k\", or \"cables\" "
       "that divide them\n"},
      {R"("shape": "fat_tree", "hosts": 16, "tiers": 4)", "/generate/tiers: 4 is not allowed here; allowed: 2, 3\n"},
      {R"("shape": "fat_tree", "hosts": 16, "oversubscription": "much")",
       "/generate/oversubscription: \"much\" is no ratio of ports; write ports down and ports up, such as \"2:1\"\n"},
      {R"("shape": "fat_tree", "hosts": 16, "dimensions": "4x4")",
       "/generate/dimensions: the shape \"fat_tree\" has no such key; leave it out; its own keys are k, tiers, oversubscription, "
       "cables\n"},
      {R"("shape": "star", "hosts": 4, "k": 4)", "/generate/k: the shape \"star\" has no such key; leave it out\n"},
      {R"("shape": "rail", "hosts": 16)", "/generate: the key \"rails\" is missing; adapters of each host, 2 to 8\n"},
      {R"("shape": "rail", "hosts": 16, "rails": 2, "spines": 2, "oversubscription": "2:1")",
       "/generate/spines: the number of spines follows from \"oversubscription\"; leave one of them out\n"},
      {R"("shape": "dragonfly", "hosts": 16, "a": 4, "h": 1)",
       "/generate: the key \"p\" is missing; give all of a, p, h, or none of them to have them follow from \"hosts\"\n"},
      {R"("shape": "dragonfly", "hosts": 16, "a": 4, "p": 2, "h": 1, "groups": 6)",
       "/generate/groups: 6 groups cannot be joined: a group has 4 cables to others; ask for at most 5 groups, or raise \"h\"\n"},
      {R"("shape": "dragonfly", "hosts": 41, "a": 4, "p": 2, "h": 1)",
       "/generate/hosts: 41 hosts are too many: this \"dragonfly\" has places for 40; ask for fewer hosts, or raise \"p\", "
       "\"a\", \"h\" or \"groups\"\n"},
      {R"("shape": "dragonfly", "hosts": 4, "a": 250, "p": 2, "h": 4)",
       "/generate: a switch of this \"dragonfly\" would have 255 ports; a switch has at most 254 ports; ask for fewer hosts or "
       "cables\n"},
      {R"("shape": "torus", "hosts": 4)",
       "/generate: the key \"dimensions\" is missing; switches in each dimension, such as \"4x4x2\"\n"},
      {R"("shape": "torus", "hosts": 4, "dimensions": "4x1")",
       "/generate/dimensions: \"4x1\" is no size of a grid; write up to 6 sizes from 2 to 254, such as \"4x4x2\" or \"4x4m\"\n"},
      {R"("shape": "hyperx", "hosts": 4, "dimensions": "4x4m")",
       "/generate/dimensions: \"4x4m\" is no size of a grid; write up to 6 sizes from 2 to 254, such as \"4x4x2\"\n"},
      {R"("shape": "torus", "hosts": 4, "dimensions": "254x254x2")",
       "/generate: this \"torus\" would have 129032 switches and 4 hosts, which need more LIDs than a subnet has; the limit is "
       "49151\n"},
      {R"("shape": "torus", "hosts": 33, "dimensions": "4x4", "hosts_per_switch": 2)",
       "/generate/hosts: 33 hosts are too many: this \"torus\" has places for 32; ask for fewer hosts, or raise "
       "\"hosts_per_switch\" or "
       "\"dimensions\"\n"},
      {R"("shape": "torus", "hosts": 16, "dimensions": "4x4", "rails": 2)",
       "/generate: hosts of a \"torus\" have one adapter each; leave \"rails\" out, or choose the shape \"leaf_spine\"\n"},
      {R"("shape": "leaf_spine", "hosts": 8, "per_tier": {"agg": {}})",
       "/generate/per_tier/agg: the shape \"leaf_spine\" has no such tier; its tiers are host, leaf, spine\n"},
      {R"("shape": "leaf_spine", "hosts": 8, "per_tier": {"spine": {"rate": "HDR"}})",
       "/generate/per_tier/spine: no cables lead upwards from this tier; give their rate and length to the tier below\n"},
      {R"("shape": "dragonfly", "hosts": 8, "per_tier": {"global": {"switch": "quantum", "cables": 2}})",
       "/generate/per_tier/global/switch: there are cables in this tier, and no switches; leave it out\n"
       "/generate/per_tier/global/cables: the number of this tier's cables follows from other keys; leave it out\n"},
      {R"("shape": "leaf_spine", "hosts": 8, "per_tier": {"spine": {"switch": "edr_swich"}})",
       "/generate/per_tier/spine/switch: there is no profile \"edr_swich\"; did you mean \"edr_switch\"? the switch profiles are "
       "edr_switch, "
       "ethernet_switch, hpcc_switch, infiniscale_iv, quantum, quantum2, spectrum, spectrum2, switch_ib2, switchx2; or name a "
       "file, relative to this "
       "one\n"}};
  for (const auto& [keys, findings] : kRefusals) EXPECT_EQ(refused(keys), findings) << keys;
}

}  // namespace
}  // namespace verbatim::config

// Routing engines: reachability, possible deadlocks, and the further guarantees of each engine.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/subnet/planned.h"

namespace verbatim::subnet {
namespace {

TEST(Engines, have_the_names_of_opensm) {
  for (const EngineName& one : kEngineNames) EXPECT_EQ(engine_named(one.name), one.engine);
  EXPECT_EQ(name_of(Engine::kTorus2Qos), "torus-2QoS");
  EXPECT_EQ(engine_named("up/down"), std::nullopt);
}

// One host per switch: ports 2 and 3 of a switch lead to the next and to the previous switch.
TEST(Engines, minhop_and_dor_can_deadlock_on_a_ring_and_others_cannot) {
  const Graph five = ring(5, 1), four = ring(4, 1);
  const std::string loop = "s0:2 -> s1:2 -> s2:2 -> s3:2 -> s4:2 -> s0:2";
  EXPECT_EQ(loop_of(five, plan_by(five, by(Engine::kMinhop))), loop);
  EXPECT_EQ(loop_of(five, plan_by(five, by(Engine::kDor))), loop);
  EXPECT_EQ(loop_of(four, plan_by(four, by(Engine::kDor))), "s0:2 -> s1:2 -> s2:2 -> s3:2 -> s0:2");
  for (const Engine engine : {Engine::kLash, Engine::kDfsssp, Engine::kUpdn}) {
    for (const Graph& graph : {five, four}) {
      const Plan plan = plan_by(graph, by(engine, {node_named(graph, "s1")}));
      EXPECT_EQ(plan.engine, engine);
      EXPECT_EQ(loop_of(graph, plan), "") << name_of(engine);
      EXPECT_EQ(gaps(graph, plan), 0u) << name_of(engine);
    }
  }
}

TEST(Engines, lash_needs_a_second_lane_on_a_ring) {
  const Graph graph = ring(5, 2);
  const Plan plan = plan_by(graph, by(Engine::kLash));
  EXPECT_EQ(plan.layers, 2u);
  ASSERT_NE(plan.levels, nullptr);
  Routing one_lane = by(Engine::kLash);
  one_lane.lanes = 1;
  const Plan refused = plan_by(graph, one_lane);
  EXPECT_EQ(refused.engine, Engine::kMinhop);
  ASSERT_EQ(refused.refusals.size(), 1u);
  EXPECT_EQ(refused.refusals[0].text, "paths without credit loops need more than the 1 data lane that cables between switches have");
  one_lane.no_fallback = true;
  const Plan nothing = plan_by(graph, one_lane);
  EXPECT_FALSE(nothing.is_routed);
  EXPECT_EQ(nothing.nodes[0].forwarding_table.at(1), fabric::RouteTable::kNoRoute);
}

TEST(Engines, a_tree_has_one_layer_and_no_levels) {
  const Graph graph = leaf_spine({.leaves = 3, .spines = 2, .hosts = 3});
  for (const Engine engine : {Engine::kLash, Engine::kDfsssp}) {
    const Plan plan = plan_by(graph, by(engine));
    EXPECT_EQ(plan.layers, 1u);
    EXPECT_EQ(plan.levels, nullptr);
  }
}

TEST(Engines, the_first_that_can_route_the_fabric_does) {
  const Graph graph = ring(5, 1);
  Routing routing = by(Engine::kFtree);
  routing.engines = {Engine::kFtree, Engine::kUpdn, Engine::kLash, Engine::kDor};
  const Plan plan = plan_by(graph, routing);
  EXPECT_EQ(plan.engine, Engine::kLash);
  ASSERT_EQ(plan.refusals.size(), 2u);
  EXPECT_EQ(plan.refusals[0].text, "a fat tree has two to eight ranks of switches, and this fabric has 1");
  EXPECT_EQ(plan.refusals[1].text, "no switch has nearly all adapters at one distance, as a root has; name the roots");
}

TEST(Engines, updn_finds_spines_as_roots) {
  const Graph graph = leaf_spine({.leaves = 4, .spines = 2, .hosts = 4});
  const Plan found = plan_by(graph, by(Engine::kUpdn));
  const Plan given = plan_by(graph, by(Engine::kUpdn, {node_named(graph, "spine0"), node_named(graph, "spine1")}));
  EXPECT_EQ(found.engine, Engine::kUpdn);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    EXPECT_EQ(found.nodes[i].forwarding_table, given.nodes[i].forwarding_table);
}

// More than 19 of 20 adapters are at 21 leaves, two hops from any other leaf.
TEST(Engines, updn_takes_no_leaf_of_a_large_tree_for_a_root) {
  const Graph graph = leaf_spine({.leaves = 24, .spines = 2, .hosts = 1});
  const Plan plan = plan_by(graph, by(Engine::kUpdn));
  EXPECT_EQ(plan.engine, Engine::kUpdn);
  EXPECT_EQ(gaps(graph, plan), 0u);
}

TEST(Engines, updn_refuses_roots_that_do_not_reach_all) {
  Graph graph;
  const std::size_t a = add_switch(graph, "a", 1), b = add_switch(graph, "b", 1), c = add_switch(graph, "c", 0), d = add_switch(graph, "d", 0);
  graph.cables.push_back({end(a, 2), end(c, 1)});
  graph.cables.push_back({end(b, 2), end(d, 1)});
  graph.cables.push_back({end(c, 2), end(b, 3)});
  const Plan whole = plan_by(graph, by(Engine::kUpdn, {c, d}));
  EXPECT_EQ(whole.engine, Engine::kUpdn);
  const Plan refused = plan_by(graph, by(Engine::kUpdn, {a, d}));
  EXPECT_EQ(refused.engine, Engine::kMinhop);
  ASSERT_EQ(refused.refusals.size(), 1u);
  EXPECT_EQ(refused.refusals[0].text, "no path from switch b to a goes up first and then down");
}

RC_GTEST_PROP(EnginesProperty, whoever_has_a_path_at_all_has_one_by_each_engine_that_does_not_refuse, ()) {
  const Graph graph = random_graph();
  const std::vector<std::size_t> switches = nodes_of(graph, NodeKind::kSwitch);
  const std::vector<std::size_t> roots{*rc::gen::elementOf(switches)};
  for (const Engine engine : {Engine::kUpdn, Engine::kDnup, Engine::kFtree, Engine::kLash, Engine::kDor, Engine::kDfsssp}) {
    for (const bool names_roots : {false, true}) {
      const Plan plan = plan_by(graph, by(engine, names_roots ? roots : std::vector<std::size_t>{}));
      RC_ASSERT(plan.is_routed);
      RC_ASSERT((plan.engine == engine) == plan.refusals.empty());
      RC_ASSERT(gaps(graph, plan) == 0u);
    }
  }
}

RC_GTEST_PROP(EnginesProperty, updn_dnup_ftree_lash_and_dfsssp_have_no_credit_loop, ()) {
  const Graph graph = random_graph();
  const std::vector<std::size_t> roots{*rc::gen::elementOf(nodes_of(graph, NodeKind::kSwitch))};
  for (const Engine engine : {Engine::kUpdn, Engine::kDnup, Engine::kFtree, Engine::kLash, Engine::kDfsssp}) {
    const Plan plan = plan_by(graph, by(engine, roots));
    if (plan.engine == engine) RC_ASSERT(loop_of(graph, plan) == "");
  }
}

// Random regular graphs with more cycles than random_graph() has.
RC_GTEST_PROP(EnginesProperty, layers_are_free_of_loops_where_many_are_needed, ()) {
  const auto switches = *rc::gen::inRange<std::size_t>(4, 14);
  Graph graph;
  std::vector<std::size_t> nodes;
  std::vector<std::uint32_t> used(switches, 2);
  for (std::size_t i = 0; i < switches; ++i) nodes.push_back(add_switch(graph, "s" + std::to_string(100 + i), 2));
  const auto join = [&](std::size_t a, std::size_t b) {
    graph.cables.push_back({end(nodes[a], ++used[a]), end(nodes[b], ++used[b])});
  };
  for (std::size_t i = 0; i < switches; ++i) join(i, (i + 1) % switches);
  for (std::size_t i = 0; i < switches; ++i) {
    const auto to = *rc::gen::inRange<std::size_t>(0, switches);
    if (to != i) join(i, to);
  }
  for (const Engine engine : {Engine::kLash, Engine::kDfsssp}) {
    const Plan plan = plan_by(graph, by(engine));
    RC_ASSERT(plan.engine == engine);
    RC_ASSERT(loop_of(graph, plan) == "");
    RC_ASSERT(gaps(graph, plan) == 0u);
    if (plan.levels == nullptr) continue;
    const Cabling cabling(graph);
    for (const std::size_t from : nodes_of(graph, NodeKind::kAdapter)) {
      for (const std::size_t to : nodes_of(graph, NodeKind::kAdapter)) {
        const ib::Lid a = plan.nodes[from].ports[0].lid, b = plan.nodes[to].ports[0].lid;
        RC_ASSERT(plan.levels->of(a, b) < plan.layers);
        RC_ASSERT(plan.levels->of(a, b) == plan.levels->of(b, a));
      }
    }
  }
}

RC_GTEST_PROP(EnginesProperty, the_order_of_the_lists_does_not_matter, ()) {
  const Graph graph = random_graph();
  const std::size_t last = graph.nodes.size() - 1;
  Graph reversed = graph;
  std::ranges::reverse(reversed.nodes);
  std::ranges::reverse(reversed.cables);
  for (Cable& cable : reversed.cables) cable = {{last - cable.b.node, cable.b.port}, {last - cable.a.node, cable.a.port}};
  const std::vector<std::size_t> roots{*rc::gen::elementOf(nodes_of(graph, NodeKind::kSwitch))};
  for (const EngineName& one : kEngineNames) {
    const Plan straight = plan_by(graph, by(one.engine, roots)), other = plan_by(reversed, by(one.engine, {last - roots[0]}));
    RC_ASSERT(straight.engine == other.engine);
    for (std::size_t i = 0; i <= last; ++i) {
      RC_ASSERT(straight.nodes[i].forwarding_table == other.nodes[last - i].forwarding_table);
      for (std::size_t j = 0; j <= last && straight.levels != nullptr; ++j) {
        const ib::Lid a = straight.nodes[i].ports[0].lid, b = straight.nodes[j].ports[0].lid;
        RC_ASSERT(straight.levels->of(a, b) == other.levels->of(a, b));
      }
    }
  }
}

// Every adapter sends to the one a fixed number of places further on; some adapters of leaves are missing.
// Adapters are in the order of their leaves.
void expect_shifts_without_congestion(const Graph& graph, const std::vector<std::size_t>& places) {
  const Plan plan = plan_by(graph, by(Engine::kFtree));
  ASSERT_EQ(plan.engine, Engine::kFtree) << plan.refusals.at(0).text;
  EXPECT_EQ(loop_of(graph, plan), "");
  const Cabling cabling(graph);
  for (std::size_t shift = 1; shift < places.size(); ++shift) {
    std::set<Channel> used;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::size_t from = places[i], to = places[(i + shift) % places.size()];
      if (from == graph.nodes.size() || to == graph.nodes.size()) continue;
      for (const Channel& output : cabling.route(plan, from, to))
        EXPECT_TRUE(used.insert(output).second) << "two packets at " << graph.nodes[output.node].name << ":" << +output.port.value
                                                << " with shift " << shift;
    }
  }
}

TEST(Engines, ftree_routes_every_shift_without_congestion) {
  for (const std::uint32_t spines : {2u, 3u, 4u}) {
    const Graph graph = leaf_spine({.leaves = 2 * spines, .spines = spines, .hosts = spines});
    expect_shifts_without_congestion(graph, nodes_of(graph, NodeKind::kAdapter));
  }
  const Graph parallel = leaf_spine({.leaves = 4, .spines = 2, .cables = 2, .hosts = 4});
  expect_shifts_without_congestion(parallel, nodes_of(parallel, NodeKind::kAdapter));
  for (const std::uint32_t half : {2u, 3u}) {
    const Graph graph = fat_tree(half, 2 * half, half);
    expect_shifts_without_congestion(graph, nodes_of(graph, NodeKind::kAdapter));
  }
}

TEST(Engines, ftree_keeps_places_for_adapters_that_are_missing) {
  Graph graph = fat_tree(3, 6, 3);
  std::vector<std::size_t> places = nodes_of(graph, NodeKind::kAdapter);
  // The last adapters of some leaves and a middle one lose their cables: a node without a cable is not part
  // of the fabric.
  for (const std::size_t missing : {5u, 11u, 12u, 20u, 53u}) {
    std::erase_if(graph.cables,
                  [&](const Cable& cable) { return cable.a.node == places[missing] || cable.b.node == places[missing]; });
  }
  // The remaining adapters of a leaf have its first places.
  std::vector<std::size_t> left;
  for (std::size_t leaf = 0; leaf < places.size(); leaf += 3) {
    std::vector<std::size_t> own;
    for (std::size_t i = leaf; i < leaf + 3; ++i) {
      const bool is_there =
          std::ranges::none_of(std::vector<std::size_t>{5, 11, 12, 20, 53}, [&](std::size_t missing) { return missing == i; });
      if (is_there) own.push_back(places[i]);
    }
    own.resize(3, graph.nodes.size());
    left.insert(left.end(), own.begin(), own.end());
  }
  expect_shifts_without_congestion(graph, left);
}

TEST(Engines, ftree_wants_a_regular_tree_unless_the_roots_are_named) {
  Graph graph = leaf_spine({.leaves = 4, .spines = 2, .hosts = 2});
  std::erase_if(graph.cables, [&](const Cable& cable) { return cable.a.node == node_named(graph, "leaf1") && cable.a.port.value == 4; });
  const Plan refused = plan_by(graph, by(Engine::kFtree));
  EXPECT_EQ(refused.engine, Engine::kMinhop);
  EXPECT_EQ(refused.refusals.at(0).text,
            "switch leaf1 has another number of switches above it than others of rank 1; name the roots, and it need not be regular");
  const Plan named = plan_by(graph, by(Engine::kFtree, {node_named(graph, "spine0"), node_named(graph, "spine1")}));
  EXPECT_EQ(named.engine, Engine::kFtree);
  EXPECT_EQ(gaps(graph, named), 0u);
}

TEST(Engines, ftree_names_a_leaf_without_adapters_that_makes_a_tree_irregular) {
  Graph graph = fat_tree(2, 4, 2);
  const std::size_t empty = node_named(graph, "edge3-1");
  std::erase_if(graph.cables, [&](const Cable& cable) {
    const auto is_adapter = [&](std::size_t node) { return graph.nodes[node].kind == NodeKind::kAdapter; };
    const bool has_adapter = is_adapter(cable.a.node) || is_adapter(cable.b.node);
    return has_adapter && (cable.a.node == empty || cable.b.node == empty);
  });
  const Plan refused = plan_by(graph, by(Engine::kFtree));
  EXPECT_NE(refused.refusals.at(0).text.find("name the roots, and it need not be regular (switch edge3-1 is joined as edge3-0 is, but has no adapters, "
                                             "and so counts as a root)"),
            std::string::npos)
      << refused.refusals.at(0).text;
}

RC_GTEST_PROP(EnginesProperty, dor_has_no_loop_in_a_mesh, ()) {
  const Mesh of = mesh(*rc::gen::inRange<std::uint32_t>(1, 6), *rc::gen::inRange<std::uint32_t>(1, 6));
  const Plan plan = plan_by(of.graph, by(Engine::kDor));
  RC_ASSERT(gaps(of.graph, plan) == 0u);
  RC_ASSERT(loop_of(of.graph, plan) == "");
}

// Port d + 2 is in dimension d at both ends.
TEST(Engines, dor_has_no_loop_in_a_hypercube) {
  Graph graph;
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < 16; ++i) nodes.push_back(add_switch(graph, "s" + std::to_string(10 + i), 1, 5));
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::uint32_t d = 0; d < 4; ++d) {
      if ((i >> d & 1) == 0) graph.cables.push_back({end(nodes[i], 2 + d), end(nodes[i | std::size_t{1} << d], 2 + d)});
    }
  }
  const Plan plan = plan_by(graph, by(Engine::kDor));
  EXPECT_EQ(gaps(graph, plan), 0u);
  EXPECT_EQ(loop_of(graph, plan), "");
  EXPECT_NE(loop_of(graph, plan_by(graph, by(Engine::kMinhop))), "");
}

TEST(Engines, packets_to_groups_flood_trees_that_close_no_loop_with_the_routes) {
  const Graph tree = leaf_spine({.leaves = 4, .spines = 4, .hosts = 4});
  Graph broken = tree;
  const std::size_t leaf0 = node_named(tree, "leaf0");
  std::erase_if(broken.cables, [&](const Cable& cable) { return cable.a.node == leaf0 && cable.a.port.value == 5; });
  const Graph circle = ring(6, 2);
  for (const Engine engine : {Engine::kUpdn, Engine::kDnup, Engine::kFtree, Engine::kLash, Engine::kDfsssp}) {
    std::vector<std::size_t> roots;
    for (const char* const spine : {"spine0", "spine1", "spine2", "spine3"}) roots.push_back(node_named(tree, spine));
    for (const Graph* const graph : {&tree, static_cast<const Graph*>(&broken)}) {
      const Plan plan = plan_by(*graph, by(engine, engine == Engine::kUpdn || engine == Engine::kFtree
                                                       ? roots
                                                       : std::vector<std::size_t>{}));
      EXPECT_EQ(plan.engine, engine);
      expect_legal_tree(*graph, plan);
    }
  }
  for (const Engine engine : {Engine::kUpdn, Engine::kLash, Engine::kDfsssp}) {
    const Plan plan = plan_by(circle, by(engine, {node_named(circle, "s0")}));
    EXPECT_EQ(plan.engine, engine);
    expect_legal_tree(circle, plan);
  }
}

// Every port of a group leads to the destination, and the port of the forwarding table is one of them.
TEST(Engines, groups_of_adaptive_routing_lead_everywhere_without_a_loop) {
  const Graph graph = leaf_spine({.leaves = 4, .spines = 4, .hosts = 4});
  for (const EngineName& one : kEngineNames) {
    Routing routing = by(one.engine, {});
    routing.no_fallback = true;
    const Plan plan = subnet::plan(graph.nodes, graph.cables, true, routing);
    if (!plan.is_routed) continue;  // torus-2QoS, file
    for (const std::size_t node : nodes_of(graph, NodeKind::kSwitch)) {
      ASSERT_EQ(plan.nodes[node].routes != nullptr, has_groups(one.engine)) << one.name;
      if (!has_groups(one.engine)) continue;
      for (const std::size_t to : nodes_of(graph, NodeKind::kAdapter)) {
        const std::uint16_t lid = plan.nodes[to].ports[0].lid.value;
        const std::vector<PortNumber> ports = plan.nodes[node].routes->ports_to(lid);
        EXPECT_NE(std::ranges::find(ports, plan.nodes[node].forwarding_table[lid]), ports.end()) << one.name;
        const bool goes_up = graph.nodes[node].name.starts_with("leaf") && !graph.nodes[to].name.starts_with(graph.nodes[node].name);
        EXPECT_EQ(ports.size(), goes_up && one.engine != Engine::kDor ? 4u : 1u) << one.name << " " << graph.nodes[node].name;
      }
    }
    EXPECT_EQ(loop_of(graph, plan), "") << one.name;
  }
}

// OpenSM's option is "honoring existing routes".
TEST(Engines, routes_that_are_still_good_stay_when_a_cable_goes) {
  const Graph graph = leaf_spine({.leaves = 4, .spines = 4, .hosts = 4});
  const Plan before = plan_by(graph, by(Engine::kMinhop));
  Graph broken = graph;
  const std::size_t leaf0 = node_named(graph, "leaf0");
  std::erase_if(broken.cables, [&](const Cable& cable) { return cable.a.node == leaf0 && cable.a.port.value == 5; });
  const Plan after = plan_by(broken, by(Engine::kMinhop), &before);
  EXPECT_EQ(gaps(broken, after), 0u);
  for (const std::size_t node : nodes_of(graph, NodeKind::kSwitch)) {
    for (const std::size_t to : nodes_of(graph, NodeKind::kAdapter)) {
      const std::uint16_t lid = before.nodes[to].ports[0].lid.value;
      const PortNumber old = before.nodes[node].forwarding_table[lid], now = after.nodes[node].forwarding_table[lid];
      const bool had_to_change = (node == leaf0 && old.value == 5) || graph.nodes[to].name.starts_with("leaf0");
      EXPECT_TRUE(had_to_change || old == now) << graph.nodes[node].name << " to " << graph.nodes[to].name;
    }
  }
}

}  // namespace
}  // namespace verbatim::subnet

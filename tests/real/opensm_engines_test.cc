// Debian's OpenSM routes the same fabrics as the built-in engine of the same name, and the routes of both are
// compared: hops, tables, loads, lanes and credit loops. Each row that the test prints is one of the table in
// sim/subnet/OPENSM.md, which explains the differences.
#include <gtest/gtest.h>

#include <filesystem>
#include <iomanip>
#include <iostream>

#include "sim/subnet/switch_graph.h"
#include "sim/subnet/up_down.h"
#include "tests/real/opensm_run.h"
#include "tests/subnet/planned.h"

namespace verbatim::real {
namespace {

Graph without_broken(Graph graph, const Asked& asked) {
  std::vector<subnet::Cable> intact;
  for (std::size_t cable = 0; cable < graph.cables.size(); ++cable) {
    if (std::ranges::find(asked.broken, cable) == asked.broken.end()) intact.push_back(graph.cables[cable]);
  }
  graph.cables = std::move(intact);
  return graph;
}

// The built-in engine with OpenSM's LIDs; after a failure as the built-in subnet manager sweeps (route_changes_of).
Routed built_in(const Graph& graph, const Asked& asked, const Plan& lids) {
  Graph own = graph;
  for (std::size_t node = 0; node < own.nodes.size(); ++node)
    own.nodes[node].lid = lids.nodes[node].ports.at(0).lid.value;
  subnet::Routing routing = subnet::by(asked.engine, asked.roots);
  if (asked.torus) routing.torus = asked.torus->torus;
  Routed routed;
  routed.plan = plan_by(own, routing);
  if (!asked.broken.empty()) {
    const Plan whole = routed.plan;
    routed.plan = plan_by(without_broken(own, asked), routing, &whole);
  }
  routed.engine = name_of(routed.plan.engine);
  routed.needed = routed.plan.layers;
  routed.level = [levels = routed.plan.levels](ib::Lid from, ib::Lid to) {
    return levels ? levels->of(from, to) : std::uint8_t{0};
  };
  const auto plan = std::make_shared<const Plan>(routed.plan);
  routed.lane = [plan, lane = subnet::lanes_of(*plan)](std::size_t node, PortNumber in, PortNumber out,
                                                       std::uint8_t level) {
    return lane(node, in, out, level);
  };
  return routed;
}

// Properties of the routes between adapters.
struct Figures {
  std::map<std::pair<std::size_t, std::size_t>, subnet::Route> routes;  // by source and destination
  std::map<std::pair<std::size_t, std::uint8_t>, std::size_t> loads;    // routes by output to another switch
  std::set<std::uint8_t> lanes;                                         // used between switches
  std::string loop;
  std::size_t most() const {
    std::size_t most = 0;
    for (const auto& [output, load] : loads) most = std::max(most, load);
    return most;
  }
};

Figures figures_of(const Graph& graph, const Routed& routed) {
  std::map<std::pair<std::size_t, std::uint8_t>, subnet::Attachment> ends;
  for (const subnet::Cable& cable : graph.cables) {
    ends[{cable.a.node, cable.a.port.value}] = cable.b;
    ends[{cable.b.node, cable.b.port.value}] = cable.a;
  }
  const auto leads_to_switch = [&](std::size_t node, PortNumber port) {
    const auto end = ends.find({node, port.value});
    return end != ends.end() && graph.nodes[end->second.node].kind == NodeKind::kSwitch;
  };
  Figures figures;
  std::vector<subnet::Route> routes;
  const std::vector<std::size_t> adapters = nodes_of(graph, NodeKind::kAdapter);
  const subnet::Cabling cabling(graph);
  for (const std::size_t from : adapters) {
    for (const std::size_t to : adapters) {
      if (from == to) continue;
      subnet::Route route = cabling.route(routed.plan, from, to);
      if (route.empty()) continue;
      const std::uint8_t level =
          routed.level(routed.plan.nodes[from].ports[0].lid, routed.plan.nodes[to].ports[0].lid);
      PortNumber in = ends.at({from, 1}).port;
      for (subnet::Channel& output : route) {
        if (leads_to_switch(output.node, output.port)) {
          output.lane = routed.lane(output.node, in, output.port, level);
          figures.lanes.insert(output.lane);
          ++figures.loads[{output.node, output.port.value}];
        }
        in = ends.at({output.node, output.port.value}).port;
      }
      figures.routes[{from, to}] = route;
      routes.push_back(std::move(route));
    }
  }
  figures.loop = credit_loop_text(graph.nodes, find_credit_loop(routes));
  return figures;
}

// Entries for adapters that differ.
std::size_t different_entries(const Graph& graph, const Plan& a, const Plan& b) {
  std::size_t count = 0;
  for (const std::size_t node : nodes_of(graph, NodeKind::kSwitch)) {
    for (const std::size_t adapter : nodes_of(graph, NodeKind::kAdapter)) {
      const std::uint16_t lid = a.nodes[adapter].ports[0].lid.value;
      if (a.nodes[node].forwarding_table.at(lid) != b.nodes[node].forwarding_table.at(lid)) ++count;
    }
  }
  return count;
}

struct Compared {
  Routed theirs, ours;
  Figures their_figures, our_figures;
  std::size_t pairs = 0;
  std::size_t unconnected = 0;          // pairs for which OpenSM has no route and the built-in engine has
  std::size_t longer = 0, shorter = 0;  // pairs for which the built-in engine's route is
  std::size_t other_routes = 0;         // pairs whose routes differ
  std::size_t other_entries = 0;        // of the tables, for adapters
};

std::string yes(const std::string& loop) { return loop.empty() ? "no" : "yes"; }

std::optional<Compared> compare(const std::string& fabric, const Graph& whole, const Asked& asked) {
  auto theirs = OpenSmRun(whole, asked).routes();
  if (!theirs) return std::nullopt;
  Compared compared{*theirs, built_in(whole, asked, theirs->plan), {}, {}};
  const Graph graph = without_broken(whole, asked);
  EXPECT_EQ(compared.theirs.engine, compared.ours.engine) << fabric << ": " << name_of(asked.engine);
  compared.their_figures = figures_of(graph, compared.theirs);
  compared.our_figures = figures_of(graph, compared.ours);
  const auto& ours = compared.our_figures.routes;
  for (const auto& [pair, route] : compared.their_figures.routes) {
    const auto own = ours.find(pair);
    if (own == ours.end()) continue;
    ++compared.pairs;
    compared.longer += own->second.size() > route.size() ? 1 : 0;
    compared.shorter += own->second.size() < route.size() ? 1 : 0;
    compared.other_routes += own->second != route ? 1 : 0;
  }
  compared.unconnected = ours.size() - compared.pairs;
  EXPECT_EQ(compared.pairs, compared.their_figures.routes.size()) << fabric;
  compared.other_entries = different_entries(graph, compared.theirs.plan, compared.ours.plan);
  const auto lanes = [](const Routed& routed, const Figures& figures) {
    const std::size_t used = figures.lanes.size();
    return std::to_string(routed.needed == 0 ? used : routed.needed);
  };
  std::cout << "| " << name_of(asked.engine) << " | " << fabric << " | " << compared.pairs << " | "
            << compared.longer << " | " << compared.shorter << " | " << compared.other_routes << " | "
            << compared.other_entries << " | " << compared.their_figures.most() << " | "
            << compared.our_figures.most() << " | " << yes(compared.their_figures.loop) << " | "
            << yes(compared.our_figures.loop) << " | " << lanes(compared.theirs, compared.their_figures)
            << " | " << lanes(compared.ours, compared.our_figures) << " |\n";
  return compared;
}

void expect_same_hops(const Compared& compared, const std::string& fabric) {
  EXPECT_EQ(compared.longer + compared.shorter + compared.unconnected, 0u) << fabric;
}

// Routes that turn upwards after a step downwards. The order of up/down routing: hops to the nearest root,
// then the name, which ascends as the GUID does.
std::size_t illegal_turns(const Graph& graph, const std::vector<std::size_t>& roots, const Figures& figures) {
  const subnet::SwitchGraph switches(graph.nodes, graph.cables);
  std::vector<std::size_t> numbers;
  for (const std::size_t root : roots) numbers.push_back(switches.number(root));
  const std::vector<std::uint64_t> order = subnet::ranks_below(switches, numbers);
  std::size_t count = 0;
  for (const auto& [pair, route] : figures.routes) {
    bool has_descended = false, is_illegal = false;
    for (std::size_t i = 1; i < route.size(); ++i) {
      const bool is_down = order[switches.number(route[i].node)] > order[switches.number(route[i - 1].node)];
      is_illegal = is_illegal || (has_descended && !is_down);
      has_descended = has_descended || is_down;
    }
    count += is_illegal ? 1 : 0;
  }
  return count;
}

// Groups of three routers, all joined, with one host each; cables between groups as far as ports 4 and 5 of
// the routers go, one missing: an irregular fabric with many cycles.
Graph dragonfly() {
  Graph graph;
  std::vector<std::vector<std::size_t>> routers(4);
  for (std::size_t group = 0; group < 4; ++group) {
    for (std::size_t i = 0; i < 3; ++i)
      routers[group].push_back(
          subnet::add_switch(graph, "g" + std::to_string(group) + "r" + std::to_string(i), 2, 8));
    for (std::uint32_t i = 0; i < 3; ++i)
      graph.cables.push_back(
          {subnet::end(routers[group][i], 3), subnet::end(routers[group][(i + 1) % 3], 4)});
  }
  const auto join = [&](std::size_t a, std::size_t i, std::uint32_t port, std::size_t b, std::size_t j,
                        std::uint32_t other) {
    graph.cables.push_back({subnet::end(routers[a][i], port), subnet::end(routers[b][j], other)});
  };
  join(0, 0, 5, 1, 0, 5);
  join(0, 1, 5, 2, 0, 5);
  join(0, 2, 5, 3, 0, 5);
  join(1, 1, 5, 2, 1, 5);
  join(1, 2, 5, 3, 1, 5);
  join(0, 0, 6, 2, 2, 6);
  join(1, 0, 6, 3, 2, 6);
  return graph;
}

struct Named {
  std::string name;
  Graph graph;
};
std::vector<Named> trees() {
  return {
      {"4 leaves, 2 spines", subnet::leaf_spine({.leaves = 4, .spines = 2, .hosts = 4})},
      {"the same, double cables", subnet::leaf_spine({.leaves = 4, .spines = 2, .cables = 2, .hosts = 4})},
      {"three tiers, k = 4", subnet::fat_tree(2, 4, 2)}};
}
std::vector<Named> cyclic() {
  return {{"ring of 4", subnet::ring(4, 2)},
          {"ring of 5", subnet::ring(5, 2)},
          {"ring of 6", subnet::ring(6, 2)},
          {"torus 4x4", subnet::torus_of({4, 4}).graph},
          {"torus 5x4", subnet::torus_of({5, 4}).graph},
          {"dragonfly, irregular", dragonfly()}};
}
std::vector<Named> all() {
  std::vector<Named> all = trees();
  for (Named& one : cyclic()) all.push_back(std::move(one));
  return all;
}
std::vector<std::size_t> top_of(const Graph& tree) {
  std::vector<std::size_t> roots;
  for (std::size_t node = 0; node < tree.nodes.size(); ++node) {
    const std::string& own = tree.nodes[node].name;
    if (own.starts_with("spine") || own.starts_with("core")) roots.push_back(node);
  }
  return roots;
}
std::vector<std::size_t> first_switch(const Graph& graph) { return {nodes_of(graph, NodeKind::kSwitch)[0]}; }

class OpenSmEngines : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/usr/sbin/opensm")) GTEST_SKIP() << "opensm is not installed";
    if (!std::filesystem::exists("/usr/sbin/saquery")) GTEST_SKIP() << "infiniband-diags is not installed";
  }
};

// Both choose the least loaded port, but count other paths and process destinations in another order: in
// trees the greatest load is at most OpenSM's, elsewhere at most a fifth greater.
TEST_F(OpenSmEngines, minhop_has_the_same_hops) {
  for (const auto& [name, graph] : trees()) {
    const auto compared = compare(name, graph, {Engine::kMinhop, {}, {}});
    ASSERT_TRUE(compared);
    expect_same_hops(*compared, name);
    EXPECT_LE(compared->our_figures.most(), compared->their_figures.most()) << name;
  }
  for (const auto& [name, graph] : cyclic()) {
    const auto compared = compare(name, graph, {Engine::kMinhop, {}, {}});
    ASSERT_TRUE(compared);
    expect_same_hops(*compared, name);
    EXPECT_LE(5 * compared->our_figures.most(), 6 * compared->their_figures.most()) << name;
  }
}

TEST_F(OpenSmEngines, dor_has_the_same_tables) {
  std::vector<Named> fabrics = all();
  fabrics.push_back({"mesh 4x3", subnet::mesh(4, 3).graph});
  for (const auto& [name, graph] : fabrics) {
    const auto compared = compare(name, graph, {Engine::kDor, {}, {}});
    ASSERT_TRUE(compared);
    expect_same_hops(*compared, name);
    EXPECT_EQ(compared->our_figures.most(), compared->their_figures.most()) << name;
    EXPECT_EQ(compared->our_figures.loop, compared->their_figures.loop) << name;
    // Two cables between the same switches share the load, in another order of destinations.
    const bool is_double = name.find("double") != std::string::npos;
    EXPECT_EQ(compared->other_entries, is_double ? 8u : 0u) << name;
  }
}

TEST_F(OpenSmEngines, updn_has_the_same_hops_and_turns) {
  const auto expect_equal = [](const std::string& name, const Graph& graph,
                               const std::vector<std::size_t>& given, const std::vector<std::size_t>& roots) {
    const auto compared = compare(name, graph, {Engine::kUpdn, given, {}});
    ASSERT_TRUE(compared);
    expect_same_hops(*compared, name);
    EXPECT_EQ(compared->our_figures.loop, "") << name;
    EXPECT_EQ(illegal_turns(graph, roots, compared->our_figures), 0u) << name;
    EXPECT_EQ(illegal_turns(graph, roots, compared->their_figures), 0u) << name;
  };
  for (const auto& [name, graph] : trees()) expect_equal(name, graph, {}, top_of(graph));
  for (const auto& [name, graph] : cyclic())
    expect_equal(name, graph, first_switch(graph), first_switch(graph));
}

// b0 has a cable to root a1, b1 to b4 have cables to root a0, and cables join b0 to b4 in a row. The only
// legal path from b0 to b4 is the row: a step to a greater GUID is a step down. The search of OpenSM's updn
// from b4 reaches b1 over a0 first; as it keeps one direction for each switch, it does not go on to b0, and
// the pair has no route. For other destinations it goes on over such a switch, with routes that turn upwards
// again.
TEST_F(OpenSmEngines, updn_has_a_legal_route_where_opensm_has_none) {
  Graph graph;
  const std::size_t r0 = subnet::add_switch(graph, "a0", 0, 8), r1 = subnet::add_switch(graph, "a1", 0, 8);
  std::vector<std::size_t> row;
  for (int i = 0; i < 5; ++i) row.push_back(subnet::add_switch(graph, "b" + std::to_string(i), 1, 8));
  for (std::size_t i = 0; i + 1 < row.size(); ++i)
    graph.cables.push_back({subnet::end(row[i], 2), subnet::end(row[i + 1], 3)});
  graph.cables.push_back({subnet::end(row[0], 4), subnet::end(r1, 1)});
  for (std::uint32_t i = 1; i < 5; ++i) graph.cables.push_back({subnet::end(row[i], 4), subnet::end(r0, i)});
  const auto compared = compare("row below two roots", graph, {Engine::kUpdn, {r0, r1}, {}});
  ASSERT_TRUE(compared);
  EXPECT_EQ(illegal_turns(graph, {r0, r1}, compared->our_figures), 0u);
  EXPECT_EQ(illegal_turns(graph, {r0, r1}, compared->their_figures), 1u);
  EXPECT_EQ(compared->longer, 1u);
  EXPECT_EQ(compared->unconnected, 1u);
}

TEST_F(OpenSmEngines, dnup_has_the_same_hops_without_loops) {
  for (const auto& [name, graph] : trees()) {
    const auto compared = compare(name, graph, {Engine::kDnup, {}, {}});
    ASSERT_TRUE(compared);
    expect_same_hops(*compared, name);
    EXPECT_EQ(compared->our_figures.loop, "") << name;
  }
}

// Entries that no packet between adapters uses may differ.
TEST_F(OpenSmEngines, ftree_has_the_same_routes) {
  for (const auto& [name, graph] : trees()) {
    const auto compared = compare(name, graph, {Engine::kFtree, {}, {}});
    ASSERT_TRUE(compared);
    EXPECT_EQ(compared->other_routes, 0u) << name;
    EXPECT_EQ(compared->our_figures.loads, compared->their_figures.loads) << name;
    EXPECT_EQ(compared->our_figures.loop, "") << name;
  }
}

// The cables of a fabric that fail, each in a run of its own: the first between two switches of each pair of kinds, so
// one below and one above the middle of three tiers.
std::vector<std::size_t> cables_to_break(const Graph& graph) {
  std::vector<std::size_t> found;
  std::set<std::pair<char, char>> kinds;
  for (std::size_t cable = 0; cable < graph.cables.size(); ++cable) {
    const subnet::Node &a = graph.nodes[graph.cables[cable].a.node], &b = graph.nodes[graph.cables[cable].b.node];
    if (a.kind != NodeKind::kSwitch || b.kind != NodeKind::kSwitch) continue;
    if (kinds.insert({a.name[0], b.name[0]}).second) found.push_back(cable);
  }
  return found;
}

std::string broken_name(const Named& fabric, std::size_t cable) {
  return fabric.name + ", without " + end_of(fabric.graph, fabric.graph.cables[cable].a);
}

// Both managers sweep after a failure, and route what is left with the LIDs of before. Without given roots both engines
// of the name ftree refuse a tree that is no longer regular, and minhop routes it.
TEST_F(OpenSmEngines, trees_with_a_failed_cable_are_routed_alike) {
  for (const Named& fabric : trees()) {
    for (const std::size_t cable : cables_to_break(fabric.graph)) {
      const auto expect_alike = [&](Engine engine, const std::vector<std::size_t>& roots, Engine used) {
        const std::string name = broken_name(fabric, cable) + (roots.empty() ? "" : ", roots given");
        const auto compared = compare(name, fabric.graph, {engine, roots, {}, {cable}});
        ASSERT_TRUE(compared) << name;
        EXPECT_EQ(compared->ours.engine, name_of(used)) << name;
        expect_same_hops(*compared, name);
        EXPECT_EQ(compared->our_figures.most(), compared->their_figures.most()) << name << ": " << name_of(engine);
        EXPECT_EQ(compared->our_figures.loop, "") << name;
        EXPECT_EQ(compared->their_figures.loop, "") << name;
        if (used == Engine::kDor) {
          EXPECT_EQ(compared->other_routes, 0u) << name;
        }
      };
      expect_alike(Engine::kMinhop, {}, Engine::kMinhop);
      expect_alike(Engine::kUpdn, {}, Engine::kUpdn);
      expect_alike(Engine::kDor, {}, Engine::kDor);
      expect_alike(Engine::kFtree, {}, Engine::kMinhop);
      expect_alike(Engine::kFtree, top_of(fabric.graph), Engine::kFtree);
    }
  }
}

// A ring becomes a row, in which each engine has the same routes. OpenSM's updn misses legal paths in a torus of 5 x 4,
// as in the row below two roots, and has others that turn upwards again.
TEST_F(OpenSmEngines, fabrics_with_cycles_and_a_failed_cable_are_routed_alike) {
  for (const Named& fabric : cyclic()) {
    const std::size_t cable = cables_to_break(fabric.graph).at(0);
    const std::string name = broken_name(fabric, cable);
    const bool is_ring = fabric.name.starts_with("ring");
    for (const Engine engine : {Engine::kMinhop, Engine::kUpdn, Engine::kDor}) {
      const bool is_updn = engine == Engine::kUpdn;
      const auto roots = is_updn ? first_switch(fabric.graph) : std::vector<std::size_t>();
      const Asked asked{engine, roots, {}, {cable}};
      const auto compared = compare(name, fabric.graph, asked);
      ASSERT_TRUE(compared) << name;
      EXPECT_LE(5 * compared->our_figures.most(), 6 * compared->their_figures.most()) << name;
      EXPECT_EQ(compared->unconnected, 0u) << name;
      if (!is_updn || fabric.name != "torus 5x4") expect_same_hops(*compared, name);
      if (is_updn) {
        EXPECT_EQ(compared->our_figures.loop, "") << name;
        EXPECT_EQ(illegal_turns(without_broken(fabric.graph, asked), roots, compared->our_figures), 0u) << name;
      }
      if (engine == Engine::kDor || is_ring) {
        EXPECT_EQ(compared->other_entries, 0u) << name;
      }
    }
  }
}

// dfsssp of OpenSM gives both directions of a pair their own lanes, the built-in engine gives them one level;
// it may need one lane more.
TEST_F(OpenSmEngines, lash_and_dfsssp_have_the_same_hops_and_no_loop_in_as_few_lanes) {
  for (const auto& [name, graph] : all()) {
    for (const Engine engine : {Engine::kLash, Engine::kDfsssp}) {
      const auto compared = compare(name, graph, {engine, {}, {}});
      ASSERT_TRUE(compared);
      expect_same_hops(*compared, name);
      EXPECT_EQ(compared->our_figures.loop, "") << name;
      EXPECT_EQ(compared->their_figures.loop, "") << name;
      const bool is_lash = engine == Engine::kLash;
      const std::size_t theirs = is_lash ? compared->their_figures.lanes.size() : compared->theirs.needed;
      ASSERT_GE(theirs, 1u);
      EXPECT_LE(compared->our_figures.lanes.size(), theirs + (is_lash ? 0 : 1)) << name;
    }
  }
}

// Dimensions of four switches need further seeds in OpenSM's file.
TEST_F(OpenSmEngines, torus_2qos_has_the_same_tables_and_lanes_without_loops) {
  for (const std::vector<std::uint32_t>& sizes : {std::vector<std::uint32_t>{6, 5}, {5, 3}, {3, 5, 3}}) {
    const subnet::TorusGraph torus = subnet::torus_of(sizes);
    std::string name = "torus ";
    for (const std::uint32_t size : sizes) name += (name.back() == ' ' ? "" : "x") + std::to_string(size);
    const auto compared = compare(name, torus.graph, {Engine::kTorus2Qos, {}, torus});
    ASSERT_TRUE(compared);
    EXPECT_EQ(compared->other_entries, 0u) << name;
    EXPECT_EQ(compared->other_routes, 0u) << name;  // routes include lanes
    EXPECT_EQ(compared->our_figures.loop, "") << name;
    EXPECT_EQ(compared->their_figures.loop, "") << name;
  }
}

}  // namespace
}  // namespace verbatim::real

// Fabrics that can deadlock on credits: cycles of the outputs that routes use in sequence.
#include "sim/subnet/credit_loops.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tests/subnet/graphs.h"

namespace verbatim::subnet {
namespace {

using fabric::PortNumber;

Channel at(std::size_t node, std::uint32_t port, std::uint8_t lane = 0) {
  return {node, PortNumber{static_cast<std::uint8_t>(port)}, lane};
}

std::string loop_of(const Graph& graph, bool all_paths = false) {
  const Plan planned = plan(graph.nodes, graph.cables, all_paths);
  return credit_loop_text(graph.nodes, find_credit_loop(graph.nodes, graph.cables, planned));
}

TEST(CreditLoops, routes_that_follow_each_other_in_a_circle) {
  EXPECT_TRUE(find_credit_loop(std::vector<Route>{}).empty());
  EXPECT_TRUE(find_credit_loop({{at(0, 1), at(1, 1), at(2, 1)}, {at(0, 1), at(2, 1)}}).empty());
  EXPECT_EQ(find_credit_loop({{at(2, 1), at(0, 1)}, {at(0, 1), at(1, 1), at(2, 1)}}), (Route{at(0, 1), at(1, 1), at(2, 1)}));
  EXPECT_EQ(find_credit_loop({{at(0, 1, 0), at(1, 1, 0)}, {at(1, 1, 1), at(0, 1, 0)}}), Route{}) << "lanes have credits of their own";
  // The shorter of two that share an output.
  EXPECT_EQ(find_credit_loop({{at(0, 1), at(1, 1), at(2, 1), at(0, 1)}, {at(2, 1), at(3, 1), at(2, 1)}}),
            (Route{at(2, 1), at(3, 1)}));
  EXPECT_EQ(find_credit_loop({{at(5, 1), at(5, 1)}}), Route{at(5, 1)});
}

TEST(CreditLoops, a_ring_of_five_names_its_cycle) {
  EXPECT_EQ(loop_of(ring(5, 1)), "s0:2 -> s1:2 -> s2:2 -> s3:2 -> s4:2 -> s0:2");
  EXPECT_EQ(loop_of(ring(5, 1), true), "s0:2 -> s1:2 -> s2:2 -> s3:2 -> s4:2 -> s0:2");
}

TEST(CreditLoops, a_ring_of_three_has_none_since_nothing_passes_two_switches) { EXPECT_EQ(loop_of(ring(3, 4)), ""); }

// A ring of four whose routes to the opposite switch all leave by one port.
std::string loop_of_opposite_routes(std::uint8_t port) {
  const Graph graph = ring(4, 1);
  Plan planned = plan(graph.nodes, graph.cables);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t from = 2 * i, opposite = 2 * ((i + 2) % 4) + 1;  // each switch precedes its host
    planned.nodes[from].forwarding_table.at(planned.nodes[opposite].ports[0].lid.value) = PortNumber{port};
  }
  return credit_loop_text(graph.nodes, find_credit_loop(graph.nodes, graph.cables, planned));
}

// Routes of minimum hops happen to form no cycle in a ring of four. All equal paths together do, and those of
// one direction.
TEST(CreditLoops, a_ring_of_four_depends_on_the_routes_in_use) {
  EXPECT_EQ(loop_of(ring(4, 1)), "");
  EXPECT_EQ(loop_of(ring(4, 2)), "");
  EXPECT_EQ(loop_of(ring(4, 1), true), "s0:2 -> s1:2 -> s2:2 -> s3:2 -> s0:2");
  EXPECT_EQ(loop_of_opposite_routes(2), "s0:2 -> s1:2 -> s2:2 -> s3:2 -> s0:2");
  EXPECT_EQ(loop_of_opposite_routes(3), "s0:3 -> s3:3 -> s2:3 -> s1:3 -> s0:3") << "the other way round";
}

TEST(CreditLoops, a_level_that_is_dropped_at_one_switch_breaks_the_circle) {
  const Graph graph = ring(5, 1);
  const Plan planned = plan(graph.nodes, graph.cables);
  const auto with = [&](std::uint8_t lane_at_s2) {
    return credit_loop_text(graph.nodes, find_credit_loop(graph.nodes, graph.cables, planned,
                                                          [&](std::size_t node, PortNumber, PortNumber,
                                                              std::uint8_t) -> std::uint8_t {
                                                            return graph.nodes[node].name == "s2" ? lane_at_s2 : 0;
                                                          }));
  };
  EXPECT_EQ(with(0), "s0:2 -> s1:2 -> s2:2 -> s3:2 -> s4:2 -> s0:2");
  EXPECT_EQ(with(3), "s0:2 VL 0 -> s1:2 VL 0 -> s2:2 VL 3 -> s3:2 VL 0 -> s4:2 VL 0 -> s0:2 VL 0");
  EXPECT_EQ(with(kNoLane), "");
}

RC_GTEST_PROP(CreditLoopsProperty, every_ring_of_five_or_more_has_a_cycle_of_its_size, ()) {
  const auto switches = *rc::gen::inRange<std::size_t>(5, 12);
  const auto hosts = *rc::gen::inRange<std::uint32_t>(1, 4);
  const Graph graph = ring(switches, hosts);
  RC_ASSERT(find_credit_loop(graph.nodes, graph.cables, plan(graph.nodes, graph.cables)).size() == switches);
}

RC_GTEST_PROP(CreditLoopsProperty, leaves_and_spines_have_none, ()) {
  const Graph graph = leaf_spine({.leaves = *rc::gen::inRange<std::uint32_t>(1, 6),
                                  .spines = *rc::gen::inRange<std::uint32_t>(1, 5),
                                  .cables = *rc::gen::inRange<std::uint32_t>(1, 3),
                                  .hosts = *rc::gen::inRange<std::uint32_t>(1, 5)});
  RC_ASSERT(loop_of(graph).empty());
  RC_ASSERT(loop_of(graph, true).empty());
}

RC_GTEST_PROP(CreditLoopsProperty, fat_trees_have_none, ()) {
  const std::uint32_t half = *rc::gen::inRange<std::uint32_t>(1, 4);
  const Graph graph =
      fat_tree(half, *rc::gen::inRange<std::uint32_t>(1, 2 * half + 1), *rc::gen::inRange<std::uint32_t>(1, half + 1));
  RC_ASSERT(loop_of(graph).empty());
  RC_ASSERT(loop_of(graph, true).empty());
}

// Routes along x first, then along y; `flipped`: the other order for switches of odd rows, which is not
// dimension order.
Plan dimension_order(const Mesh& mesh, bool flipped) {
  Plan planned = plan(mesh.graph.nodes, mesh.graph.cables);
  for (std::uint32_t y = 0; y < mesh.height; ++y) {
    for (std::uint32_t x = 0; x < mesh.width; ++x) {
      auto& table = planned.nodes[mesh.node(x, y)].forwarding_table;
      for (std::uint32_t to_y = 0; to_y < mesh.height; ++to_y) {
        for (std::uint32_t to_x = 0; to_x < mesh.width; ++to_x) {
          const int along_x = to_x == x ? 0 : to_x > x ? 2 : 3, along_y = to_y == y ? 0 : to_y > y ? 4 : 5;
          const bool y_first = flipped && y % 2 == 1;
          int port = y_first ? along_y : along_x;
          if (port == 0) port = y_first ? along_x : along_y;
          if (port == 0) port = 1;
          table[planned.nodes[mesh.node(to_x, to_y) + 1].ports[0].lid.value] = PortNumber{static_cast<std::uint8_t>(port)};
        }
      }
    }
  }
  return planned;
}

RC_GTEST_PROP(CreditLoopsProperty, a_mesh_in_order_of_dimensions_has_none, ()) {
  const Mesh of = mesh(*rc::gen::inRange<std::uint32_t>(1, 6), *rc::gen::inRange<std::uint32_t>(1, 6));
  RC_ASSERT(find_credit_loop(of.graph.nodes, of.graph.cables, dimension_order(of, false)).empty());
}

TEST(CreditLoops, a_mesh_whose_rows_turn_the_other_way_has_one) {
  const Mesh of = mesh(3, 3);
  const Route loop = find_credit_loop(of.graph.nodes, of.graph.cables, dimension_order(of, true));
  EXPECT_EQ(loop.size(), 6u) << credit_loop_text(of.graph.nodes, loop);
}

// Every path of a packet between two adapters, hop by hop, as outputs between switches.
void walk_all(const Graph& graph, const Plan& planned, std::vector<Route>& routes) {
  std::map<std::pair<std::size_t, int>, Attachment> behind;
  for (const Cable& cable : graph.cables) {
    behind[{cable.a.node, cable.a.port.value}] = cable.b;
    behind[{cable.b.node, cable.b.port.value}] = cable.a;
  }
  const auto walk = [&](auto&& self, std::size_t node, std::uint16_t lid, Route so_far) -> void {
    const NodePlan& of = planned.nodes[node];
    std::vector<PortNumber> ports;
    if (of.routes != nullptr) ports = of.routes->ports_to(lid);
    else if (of.forwarding_table.at(lid).value != 255) ports = {of.forwarding_table[lid]};
    for (const PortNumber port : ports) {
      const Attachment next = behind.at({node, port.value});
      if (graph.nodes[next.node].kind == NodeKind::kAdapter) {
        routes.push_back(so_far);
        continue;
      }
      Route longer = so_far;
      longer.push_back({node, port});
      self(self, next.node, lid, longer);
    }
  };
  for (std::size_t from = 0; from < graph.nodes.size(); ++from) {
    for (std::size_t to = 0; to < graph.nodes.size(); ++to) {
      if (from == to || graph.nodes[from].kind != NodeKind::kAdapter || graph.nodes[to].kind != NodeKind::kAdapter) continue;
      walk(walk, behind.at({from, 1}).node, planned.nodes[to].ports[0].lid.value, {});
    }
  }
}

// Names sort as the nodes' indices do, so even the same cycle is found.
RC_GTEST_PROP(CreditLoopsProperty, the_tables_give_what_walking_every_route_gives, ()) {
  const Graph graph = random_graph();
  const bool all_paths = *rc::gen::arbitrary<bool>();
  const Plan planned = plan(graph.nodes, graph.cables, all_paths);
  std::vector<Route> routes;
  walk_all(graph, planned, routes);
  const Route loop = find_credit_loop(graph.nodes, graph.cables, planned);
  RC_CLASSIFY(!loop.empty());
  RC_ASSERT(loop == find_credit_loop(routes));
  // And each of its steps is one of a route.
  for (std::size_t i = 0; i < loop.size(); ++i) {
    const Channel& one = loop[i];
    const Channel& next = loop[(i + 1) % loop.size()];
    RC_ASSERT(std::ranges::any_of(routes, [&](const Route& route) {
      for (std::size_t hop = 1; hop < route.size(); ++hop) {
        if (route[hop - 1] == one && route[hop] == next) return true;
      }
      return false;
    }));
  }
}

}  // namespace
}  // namespace verbatim::subnet

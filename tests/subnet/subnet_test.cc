// Addresses and forwarding tables follow from names and cabling alone, and every route is a shortest one.
#include "sim/subnet/subnet.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/subnet/graphs.h"

namespace verbatim::subnet {
namespace {

using fabric::PortNumber;

// Hops over switches from `node` to `lid`, following the tables; -1 if a table lacks the route or it loops.
int walk(const std::vector<Node>& nodes, const std::vector<Cable>& cables, const Plan& plan, std::size_t node,
         std::uint16_t lid) {
  std::map<std::pair<std::size_t, int>, std::size_t> behind;
  for (const Cable& cable : cables) {
    behind[{cable.a.node, cable.a.port.value}] = cable.b.node;
    behind[{cable.b.node, cable.b.port.value}] = cable.a.node;
  }
  for (int hops = 0; hops < 64; ++hops) {
    if (nodes[node].kind == NodeKind::kAdapter) {
      for (const PortPlan& port : plan.nodes[node].ports) {
        if (port.lid.value == lid) return hops;
      }
      return -1;
    }
    const PortNumber out = plan.nodes[node].forwarding_table.at(lid);
    if (out.value == 0) return plan.nodes[node].ports[0].lid.value == lid ? hops : -1;
    const auto next = behind.find({node, out.value});
    if (next == behind.end()) return -1;
    node = next->second;
  }
  return -1;
}

const std::vector<Node> kTwoHosts = {{"server/mlx5_0", NodeKind::kAdapter, 1},
                                     {"sw", NodeKind::kSwitch, 4},
                                     {"client/mlx5_0", NodeKind::kAdapter, 1}};

// Two leaves, two spines, two cables from each leaf to each spine: four paths between the leaves.
TEST(Subnet, all_ways_of_the_shortest_length_are_found_when_asked_for) {
  const std::vector<Node> nodes = {{"a", NodeKind::kAdapter, 1},     {"b", NodeKind::kAdapter, 1},
                                   {"leaf0", NodeKind::kSwitch, 5},  {"leaf1", NodeKind::kSwitch, 5},
                                   {"spine0", NodeKind::kSwitch, 4}, {"spine1", NodeKind::kSwitch, 4}};
  std::vector<Cable> cables = {{end(0, 1), end(2, 1)}, {end(1, 1), end(3, 1)}};
  for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
    for (std::uint32_t up = 0; up < 4; ++up) {
      cables.push_back({end(2 + leaf, 2 + up), end(4 + up / 2, 1 + 2 * leaf + up % 2)});
    }
  }
  const Plan result = plan(nodes, cables, true);
  const std::uint16_t b = result.nodes[1].ports[0].lid.value;
  EXPECT_EQ(result.nodes[2].routes->ports_to(b),
            (std::vector<PortNumber>{PortNumber{2}, PortNumber{3}, PortNumber{4}, PortNumber{5}}));
  EXPECT_EQ(result.nodes[3].routes->ports_to(b), std::vector<PortNumber>{PortNumber{1}});
  EXPECT_EQ(result.nodes[4].routes->ports_to(b), (std::vector<PortNumber>{PortNumber{3}, PortNumber{4}}));
  EXPECT_EQ(result.nodes[0].ports[0].mac, ib::MacAddress{0x0256'4200'0001});
  EXPECT_TRUE(plan(nodes, cables).nodes[2].routes == nullptr);
}

TEST(Subnet, two_hosts_and_a_switch) {
  const Plan result = plan(kTwoHosts, {{end(0, 1), end(1, 1)}, {end(2, 1), end(1, 3)}});
  EXPECT_TRUE(result.findings.empty());
  EXPECT_EQ(result.nodes[2].ports[0].lid, ib::Lid{1});  // "client" sorts first
  EXPECT_EQ(result.nodes[0].ports[0].lid, ib::Lid{2});
  EXPECT_EQ(result.nodes[1].ports[0].lid, ib::Lid{3});  // switches follow
  EXPECT_EQ(result.subnet_manager, ib::Lid{1});
  EXPECT_EQ(result.nodes[1].forwarding_table,
            (std::vector<PortNumber>{PortNumber{255}, PortNumber{3}, PortNumber{1}, PortNumber{0}}));
  EXPECT_EQ(result.nodes[2].guid, 0x0256'4200'0000'0100u);
  EXPECT_EQ(result.nodes[2].ports[0].guid, 0x0256'4200'0000'0101u);
  const std::uint8_t gid[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0x56, 0x42, 0, 0, 0, 0x01, 0x01};
  EXPECT_TRUE(std::equal(gid, gid + 16, result.nodes[2].ports[0].gid.raw));
}

TEST(Subnet, a_direct_cable_needs_no_switch) {
  const Plan result =
      plan({{"a", NodeKind::kAdapter, 1}, {"b", NodeKind::kAdapter, 1}}, {{end(0, 1), end(1, 1)}});
  EXPECT_TRUE(result.findings.empty());
  EXPECT_EQ(result.nodes[1].ports[0].lid, ib::Lid{2});
}

TEST(Subnet, what_is_not_connected_is_a_finding) {
  const Plan loose = plan(kTwoHosts, {{end(0, 1), end(1, 1)}});
  EXPECT_EQ(loose.findings, std::vector<std::string>{"client/mlx5_0 port 1 has no cable"});
  EXPECT_EQ(loose.nodes[1].forwarding_table[1], PortNumber{255});

  const std::vector<Node> nodes = {{"a", NodeKind::kAdapter, 1}, {"b", NodeKind::kAdapter, 1},
                                   {"c", NodeKind::kAdapter, 1}, {"d", NodeKind::kAdapter, 1},
                                   {"s0", NodeKind::kSwitch, 2}, {"s1", NodeKind::kSwitch, 2}};
  const Plan split =
      plan(nodes,
           {{end(0, 1), end(4, 1)}, {end(1, 1), end(4, 2)}, {end(2, 1), end(5, 1)}, {end(3, 1), end(5, 2)}});
  EXPECT_EQ(split.findings,
            std::vector<std::string>{"no cable leads from a port 1 to c port 1 and 1 other port beside it"});
  EXPECT_EQ(split.nodes[4].forwarding_table[3], PortNumber{255});
}

TEST(Subnet, adapters_do_not_forward) {
  // s0 - h - s1: the two-port adapter h is not on a path from a to b.
  const std::vector<Node> nodes = {{"a", NodeKind::kAdapter, 1},
                                   {"b", NodeKind::kAdapter, 1},
                                   {"h", NodeKind::kAdapter, 2},
                                   {"s0", NodeKind::kSwitch, 2},
                                   {"s1", NodeKind::kSwitch, 2}};
  const Plan result =
      plan(nodes,
           {{end(0, 1), end(3, 1)}, {end(2, 1), end(3, 2)}, {end(2, 2), end(4, 1)}, {end(1, 1), end(4, 2)}});
  EXPECT_EQ(result.nodes[3].forwarding_table[result.nodes[1].ports[0].lid.value], PortNumber{255});
  EXPECT_EQ(result.findings.size(), 1u);
}

// Two leaves with four hosts each and two spines: each leaf sends two of the far hosts by each spine.
TEST(Subnet, equal_ways_are_shared_evenly) {
  std::vector<Node> nodes;
  std::vector<Cable> cables;
  for (int i = 0; i < 8; ++i) nodes.push_back({"h" + std::to_string(i), NodeKind::kAdapter, 1});
  for (const char* name : {"leaf0", "leaf1", "spine0", "spine1"})
    nodes.push_back({name, NodeKind::kSwitch, 8});
  for (std::uint32_t i = 0; i < 8; ++i) cables.push_back({end(i, 1), end(8 + i / 4, 1 + i % 4)});
  for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
    for (std::uint32_t spine = 0; spine < 2; ++spine) {
      cables.push_back({end(8 + leaf, 5 + spine), end(10 + spine, 1 + leaf)});
    }
  }
  const Plan result = plan(nodes, cables);
  std::map<int, int> uses;
  for (std::size_t host = 4; host < 8; ++host) {
    ++uses[result.nodes[8].forwarding_table[result.nodes[host].ports[0].lid.value].value];
  }
  EXPECT_EQ(uses, (std::map<int, int>{{5, 2}, {6, 2}}));
  EXPECT_EQ(result.nodes[8].forwarding_table[result.nodes[4].ports[0].lid.value], PortNumber{5});
}

RC_GTEST_PROP(SubnetProperty, every_way_that_exists_is_found_and_is_shortest, ()) {
  const Graph graph = random_graph();
  const Plan result = plan(graph.nodes, graph.cables);
  const std::size_t count = graph.nodes.size();
  // Floyd and Warshall: hops, with adapters only at the ends.
  std::vector<std::vector<int>> hops(count, std::vector<int>(count, 1000));
  for (std::size_t i = 0; i < count; ++i) hops[i][i] = 0;
  for (const Cable& cable : graph.cables)
    hops[cable.a.node][cable.b.node] = hops[cable.b.node][cable.a.node] = 1;
  for (std::size_t k = 0; k < count; ++k) {
    if (graph.nodes[k].kind == NodeKind::kAdapter) continue;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) hops[i][j] = std::min(hops[i][j], hops[i][k] + hops[k][j]);
    }
  }
  for (std::size_t from = 0; from < count; ++from) {
    if (graph.nodes[from].kind != NodeKind::kSwitch) continue;
    for (std::size_t to = 0; to < count; ++to) {
      const std::uint16_t lid = result.nodes[to].ports[0].lid.value;
      const int expected = hops[from][to] >= 1000 ? -1 : hops[from][to];
      RC_ASSERT(walk(graph.nodes, graph.cables, result, from, lid) == expected);
    }
  }
}

// A flood over the multicast ports reaches every adapter port of an island exactly once, and ends.
RC_GTEST_PROP(SubnetProperty, multicast_ports_span_every_island_without_a_loop, ()) {
  const Graph graph = random_graph();
  const Plan result = plan(graph.nodes, graph.cables);
  const auto far_end = [&](std::size_t node, fabric::PortNumber port) {
    for (const Cable& cable : graph.cables) {
      if (cable.a.node == node && cable.a.port == port) return cable.b;
      if (cable.b.node == node && cable.b.port == port) return cable.a;
    }
    RC_FAIL("a multicast port without a cable");
    return Attachment{};
  };
  const auto on_tree = [&](const Attachment& at) {
    const auto& ports = result.nodes[at.node].multicast_ports;
    return std::find(ports.begin(), ports.end(), at.port) != ports.end();
  };
  for (std::size_t root = 0; root < graph.nodes.size(); ++root) {
    if (graph.nodes[root].kind == NodeKind::kAdapter) {
      RC_ASSERT(result.nodes[root].multicast_ports.empty());
      continue;
    }
    std::vector<int> visits(graph.nodes.size(), 0);
    std::vector<Attachment> front{{root, fabric::PortNumber{0}}};
    ++visits[root];
    for (std::size_t i = 0; i < front.size(); ++i) {
      RC_ASSERT(front.size() < 10'000u);
      for (const fabric::PortNumber port : result.nodes[front[i].node].multicast_ports) {
        if (port == front[i].port) continue;
        const Attachment next = far_end(front[i].node, port);
        const bool is_switch = graph.nodes[next.node].kind == NodeKind::kSwitch;
        ++visits[next.node];
        if (!is_switch) continue;
        RC_ASSERT(on_tree(next));
        RC_ASSERT(visits[next.node] == 1);
        front.push_back(next);
      }
    }
    for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
      if (graph.nodes[node].kind != NodeKind::kSwitch) continue;
      const std::uint16_t lid = result.nodes[node].ports[0].lid.value;
      const bool reachable = walk(graph.nodes, graph.cables, result, root, lid) >= 0;
      RC_ASSERT((visits[node] == 1) == reachable);
    }
  }
}

RC_GTEST_PROP(SubnetProperty, the_order_of_the_lists_does_not_matter, ()) {
  const Graph graph = random_graph();
  const Plan straight = plan(graph.nodes, graph.cables);
  Graph reversed = graph;
  std::reverse(reversed.nodes.begin(), reversed.nodes.end());
  std::reverse(reversed.cables.begin(), reversed.cables.end());
  const std::size_t last = graph.nodes.size() - 1;
  for (Cable& cable : reversed.cables) {
    cable = {{last - cable.b.node, cable.b.port}, {last - cable.a.node, cable.a.port}};
  }
  const Plan other = plan(reversed.nodes, reversed.cables);
  RC_ASSERT(straight.findings == other.findings);
  for (std::size_t i = 0; i <= last; ++i) {
    RC_ASSERT(straight.nodes[i].guid == other.nodes[last - i].guid);
    RC_ASSERT(straight.nodes[i].ports[0].lid == other.nodes[last - i].ports[0].lid);
    RC_ASSERT(straight.nodes[i].forwarding_table == other.nodes[last - i].forwarding_table);
    RC_ASSERT(straight.nodes[i].multicast_ports == other.nodes[last - i].multicast_ports);
  }
}

}  // namespace
}  // namespace verbatim::subnet

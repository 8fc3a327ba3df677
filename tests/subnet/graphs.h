// Fabrics for tests of routes.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "sim/subnet/subnet.h"

namespace verbatim::subnet {

inline Attachment end(std::size_t node, std::uint32_t port) {
  return {node, fabric::PortNumber{static_cast<std::uint8_t>(port)}};
}

struct Graph {
  std::vector<Node> nodes;
  std::vector<Cable> cables;
};

// Up to six switches cabled at random, up to ten adapters on some of them.
inline Graph random_graph() {
  Graph graph;
  const auto switches = *rc::gen::inRange<std::size_t>(1, 7);
  const auto adapters = *rc::gen::inRange<std::size_t>(0, 11);
  std::vector<std::uint32_t> used(switches, 0);
  for (std::size_t i = 0; i < switches; ++i)
    graph.nodes.push_back({"s" + std::to_string(i), NodeKind::kSwitch, 40});
  const auto free_port = [&](std::size_t node) { return end(node, ++used[node]); };
  for (std::size_t i = 0; i < adapters; ++i) {
    graph.nodes.push_back({"h" + std::to_string(i), NodeKind::kAdapter, 1});
    graph.cables.push_back({end(switches + i, 1), free_port(*rc::gen::inRange<std::size_t>(0, switches))});
  }
  const auto extra = *rc::gen::inRange(0, 12);
  for (int i = 0; i < extra && switches > 1; ++i) {
    const auto a = *rc::gen::inRange<std::size_t>(0, switches), b = *rc::gen::inRange<std::size_t>(0, switches);
    if (a != b) graph.cables.push_back({free_port(a), free_port(b)});
  }
  return graph;
}

// Adds a switch with that many adapters, at its ports from 1 on.
inline std::size_t add_switch(Graph& graph, const std::string& name, std::uint32_t hosts, std::uint32_t ports = 40) {
  const std::size_t node = graph.nodes.size();
  graph.nodes.push_back({name, NodeKind::kSwitch, ports});
  for (std::uint32_t i = 0; i < hosts; ++i) {
    graph.cables.push_back({end(graph.nodes.size(), 1), end(node, i + 1)});
    graph.nodes.push_back({name + "-h" + std::to_string(i), NodeKind::kAdapter, 1});
  }
  return node;
}

// Switches in a ring: behind the hosts' ports one to the next switch, and one to the switch before.
inline Graph ring(std::size_t switches, std::uint32_t hosts) {
  Graph graph;
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < switches; ++i) nodes.push_back(add_switch(graph, "s" + std::to_string(i), hosts));
  for (std::size_t i = 0; i < switches; ++i)
    graph.cables.push_back({end(nodes[i], hosts + 1), end(nodes[(i + 1) % switches], hosts + 2)});
  return graph;
}

struct LeafSpine {
  std::uint32_t leaves, spines, cables = 1, hosts;  // cables from each leaf to each spine, hosts at each leaf
};

// After a leaf's ports to hosts follow those to spine0, spine1, …
inline Graph leaf_spine(const LeafSpine& of) {
  Graph graph;
  std::vector<std::size_t> leaves;
  for (std::uint32_t l = 0; l < of.leaves; ++l) leaves.push_back(add_switch(graph, "leaf" + std::to_string(l), of.hosts));
  for (std::uint32_t s = 0; s < of.spines; ++s) {
    const std::size_t spine = add_switch(graph, "spine" + std::to_string(s), 0);
    for (std::uint32_t i = 0; i < of.leaves * of.cables; ++i)
      graph.cables.push_back({end(leaves[i / of.cables], of.hosts + 1 + s * of.cables + i % of.cables), end(spine, i + 1)});
  }
  return graph;
}

// Pods of `half` edge and `half` aggregation switches each, and half * half cores; so many hosts at each edge.
inline Graph fat_tree(std::uint32_t half, std::uint32_t pods, std::uint32_t hosts) {
  Graph graph;
  std::vector<std::size_t> cores;
  for (std::uint32_t c = 0; c < half * half; ++c) cores.push_back(add_switch(graph, "core" + std::to_string(c), 0));
  for (std::uint32_t pod = 0; pod < pods; ++pod) {
    std::vector<std::size_t> edges, aggregations;
    for (std::uint32_t i = 0; i < half; ++i) {
      const std::string name = std::to_string(pod) + "-" + std::to_string(i);
      edges.push_back(add_switch(graph, "edge" + name, hosts));
      aggregations.push_back(add_switch(graph, "aggregation" + name, 0));
    }
    for (std::uint32_t e = 0; e < half; ++e) {
      for (std::uint32_t a = 0; a < half; ++a)
        graph.cables.push_back({end(edges[e], hosts + 1 + a), end(aggregations[a], 1 + e)});
    }
    for (std::uint32_t a = 0; a < half; ++a) {
      for (std::uint32_t c = 0; c < half; ++c)
        graph.cables.push_back({end(aggregations[a], half + 1 + c), end(cores[a * half + c], 1 + pod)});
    }
  }
  return graph;
}

// A mesh; ports of a switch: 1 its host, 2 and 3 along x up and down, 4 and 5 along y.
struct Mesh {
  Graph graph;
  std::uint32_t width, height;
  std::size_t node(std::uint32_t x, std::uint32_t y) const { return 2 * (y * width + x); }
};

inline Mesh mesh(std::uint32_t width, std::uint32_t height) {
  Mesh result{{}, width, height};
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) add_switch(result.graph, "s" + std::to_string(x) + std::to_string(y), 1, 5);
  }
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      if (x + 1 < width) result.graph.cables.push_back({end(result.node(x, y), 2), end(result.node(x + 1, y), 3)});
      if (y + 1 < height) result.graph.cables.push_back({end(result.node(x, y), 4), end(result.node(x, y + 1), 5)});
    }
  }
  return result;
}

}  // namespace verbatim::subnet

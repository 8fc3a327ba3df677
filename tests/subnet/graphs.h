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

}  // namespace verbatim::subnet

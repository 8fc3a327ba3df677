#include "sim/subnet/multicast_trees.h"

#include <algorithm>
#include <numeric>

namespace verbatim::subnet {

namespace {

using fabric::PortNumber;

// Breadth-first search from a switch over hops that may(from, hop) permits; extends `reached`.
template <class May>
void grow(const SwitchGraph& graph, std::size_t root, std::vector<bool>& reached, std::vector<TreeCable>& tree, May may) {
  std::vector<std::size_t> front{root};
  reached[root] = true;
  for (std::size_t i = 0; i < front.size(); ++i) {
    for (const SwitchGraph::Hop& hop : graph.hops_of(front[i])) {
      if (reached[hop.to] || !may(front[i], hop)) continue;
      reached[hop.to] = true;
      tree.push_back({front[i], hop.port});
      front.push_back(hop.to);
    }
  }
}

constexpr auto kAny = [](std::size_t, const SwitchGraph::Hop&) { return true; };

}  // namespace

std::vector<TreeCable> shortest_tree(const SwitchGraph& graph) {
  std::vector<TreeCable> tree;
  std::vector<bool> reached(graph.size(), false);
  for (std::size_t root = 0; root < graph.size(); ++root) {
    if (!reached[root]) grow(graph, root, reached, tree, kAny);
  }
  return tree;
}

std::vector<TreeCable> tree_below(const SwitchGraph& graph, std::span<const std::uint64_t> ranks) {
  std::vector<std::size_t> by_rank(graph.size());
  std::iota(by_rank.begin(), by_rank.end(), std::size_t{0});
  std::ranges::sort(by_rank, {}, [&](std::size_t number) { return ranks[number]; });
  const auto goes_down = [&](std::size_t from, const SwitchGraph::Hop& hop) { return ranks[from] < ranks[hop.to]; };

  std::vector<TreeCable> all;
  std::vector<bool> seen(graph.size(), false);  // switches of islands that have been processed
  for (std::size_t first = 0; first < graph.size(); ++first) {
    if (seen[first]) continue;
    std::vector<bool> island(graph.size(), false);
    std::vector<TreeCable> unused;
    grow(graph, first, island, unused, kAny);
    bool has_root = false;
    for (const std::size_t root : by_rank) {
      if (!island[root]) continue;
      std::vector<bool> reached(graph.size(), false);
      std::vector<TreeCable> tree;
      grow(graph, root, reached, tree, goes_down);
      has_root = true;
      for (std::size_t number = 0; number < graph.size() && has_root; ++number)
        has_root = !island[number] || !graph.is_leaf(number) || reached[number];
      if (!has_root) continue;
      all.insert(all.end(), tree.begin(), tree.end());
      break;
    }
    if (!has_root) return {};
    for (std::size_t number = 0; number < graph.size(); ++number) seen[number] = seen[number] || island[number];
  }
  return all;
}

void set_multicast_ports(const SwitchGraph& graph, std::span<const TreeCable> tree, Plan& plan) {
  for (std::size_t number = 0; number < graph.size(); ++number) {
    std::vector<PortNumber>& ports = plan.nodes[graph.node(number)].multicast_ports;
    ports.clear();
    for (std::uint32_t port = 1; port <= graph.ports(number); ++port) {
      const Attachment& end = graph.neighbour(graph.node(number), port);
      if (end.node != kNowhere && graph.number(end.node) == kNowhere)
        ports.push_back(PortNumber{static_cast<std::uint8_t>(port)});
    }
  }
  for (const TreeCable& cable : tree) {
    const Attachment here{graph.node(cable.number), cable.port};
    const Attachment& there = graph.neighbour(here);
    plan.nodes[here.node].multicast_ports.push_back(here.port);
    plan.nodes[there.node].multicast_ports.push_back(there.port);
  }
  for (std::size_t number = 0; number < graph.size(); ++number)
    std::ranges::sort(plan.nodes[graph.node(number)].multicast_ports, {}, &PortNumber::value);
}

}  // namespace verbatim::subnet

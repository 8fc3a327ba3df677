#include "sim/subnet/switch_graph.h"

#include <algorithm>
#include <numeric>

#include "sim/core/check.h"

namespace verbatim::subnet {

SwitchGraph::SwitchGraph(const std::vector<Node>& nodes, const std::vector<Cable>& cables) : numbers_(nodes.size(), kNowhere) {
  neighbours_.resize(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    CHECK(nodes[i].ports >= 1 && nodes[i].ports < fabric::RouteTable::kNoRoute.value);
    neighbours_[i].assign(nodes[i].ports, Attachment{kNowhere, {}});
    if (nodes[i].kind == NodeKind::kSwitch) switches_.push_back(i);
  }
  for (const Cable& cable : cables) {
    join(cable.a, cable.b);
    join(cable.b, cable.a);
  }
  std::ranges::sort(switches_, {}, [&](std::size_t node) -> const std::string& { return nodes[node].name; });
  for (std::size_t number = 0; number < switches_.size(); ++number) numbers_[switches_[number]] = number;
  for (const std::size_t node : switches_) {
    first_hop_.push_back(hops_.size());
    for (std::uint32_t i = 0; i < nodes[node].ports; ++i) {
      const Attachment& next = neighbours_[node][i];
      if (next.node == kNowhere || numbers_[next.node] == kNowhere) continue;
      hops_.push_back({fabric::PortNumber{static_cast<std::uint8_t>(i + 1)}, static_cast<std::uint32_t>(numbers_[next.node])});
    }
  }
  first_hop_.push_back(hops_.size());
  adapters_.resize(switches_.size());
}

void SwitchGraph::join(const Attachment& from, const Attachment& to) {
  CHECK(from.node < neighbours_.size() && from.port.value >= 1 && from.port.value <= neighbours_[from.node].size());
  Attachment& end = neighbours_[from.node][from.port.value - 1u];
  CHECK(end.node == kNowhere);
  end = to;
}

void SwitchGraph::add_adapters(std::span<const Attachment> owners) {
  for (std::size_t lid = 1; lid < owners.size(); ++lid) {
    const Attachment& owner = owners[lid];
    if (owner.node == kNowhere || numbers_[owner.node] != kNowhere) continue;
    const Attachment& end = neighbour(owner);
    if (end.node == kNowhere || numbers_[end.node] == kNowhere) continue;
    adapters_[numbers_[end.node]].push_back({lid, end.port});
  }
  for (std::vector<Adapter>& adapters : adapters_) std::ranges::sort(adapters, {}, &Adapter::port);
}

std::vector<std::size_t> SwitchGraph::switches_by_distance(std::size_t root, std::vector<std::uint32_t>& distances,
                                                 std::uint64_t& steps) const {
  distances.assign(switches_.size(), kUnreachable);
  std::vector<std::size_t> front{root};
  distances[root] = 0;
  for (std::size_t i = 0; i < front.size(); ++i) {
    for (const Hop& hop : hops_of(front[i])) {
      ++steps;
      if (distances[hop.to] != kUnreachable) continue;
      distances[hop.to] = distances[front[i]] + 1;
      front.push_back(hop.to);
    }
  }
  return front;
}

std::vector<std::uint32_t> ranks_from(const SwitchGraph& graph, std::span<const std::size_t> from) {
  std::vector<std::uint32_t> ranks(graph.size(), kUnreachable);
  std::vector<std::size_t> front(from.begin(), from.end());
  for (const std::size_t number : front) ranks[number] = 0;
  for (std::size_t i = 0; i < front.size(); ++i) {
    for (const SwitchGraph::Hop& hop : graph.hops_of(front[i])) {
      if (ranks[hop.to] != kUnreachable) continue;
      ranks[hop.to] = ranks[front[i]] + 1;
      front.push_back(hop.to);
    }
  }
  return ranks;
}

std::vector<std::size_t> leaves_of(const SwitchGraph& graph) {
  std::vector<std::size_t> leaves;
  for (std::size_t number = 0; number < graph.size(); ++number) {
    if (graph.is_leaf(number)) leaves.push_back(number);
  }
  return leaves;
}

}  // namespace verbatim::subnet

// Spanning trees for multicast packets: a switch sends a packet to all ports of the tree except the ingress
// port (NodePlan::multicast_ports). Adapters are leaves of the tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/subnet/switch_graph.h"

namespace verbatim::subnet {

// A cable of a tree, from switch `number`.
struct TreeCable {
  std::size_t number = 0;
  fabric::PortNumber port;
};

// The tree of shortest paths over all switches of each island, from its first switch by name; between two
// switches it uses the cable at the lowest port.
std::vector<TreeCable> shortest_tree(const SwitchGraph& graph);

// The tree below a root: the first switch by rank that reaches every switch with adapters of its island over
// ascending ranks only. A packet goes up to that root, or less far, and then down, as routes by these ranks
// do. Empty: an island has no such root.
std::vector<TreeCable> tree_below(const SwitchGraph& graph, std::span<const std::uint64_t> ranks);

// Writes NodePlan::multicast_ports in ascending order.
void set_multicast_ports(const SwitchGraph& graph, std::span<const TreeCable> tree, Plan& plan);

}  // namespace verbatim::subnet

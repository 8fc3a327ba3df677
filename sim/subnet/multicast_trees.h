// Spanning trees on which packets to groups leave switches: each goes to all ports of the tree but the one that it came by
// (NodePlan::multicast_ports). Adapters are leaves of the tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/subnet/switch_graph.h"

namespace verbatim::subnet {

// A cable of a tree, from the switch with this number.
struct TreeCable {
  std::size_t number = 0;
  fabric::PortNumber port;
};

// Over all switches of each island, of the shortest paths from its first switch by name; between two switches the cable at the
// lowest port.
std::vector<TreeCable> shortest_tree(const SwitchGraph& graph);

// Over the switches below the first one by rank from which every switch with adapters, of its island, can be reached by going to
// greater ranks alone. A packet goes up to that root, or less far, and then down, as the routes by these ranks do. Nothing: some
// island has no such root.
std::vector<TreeCable> tree_below(const SwitchGraph& graph, std::span<const std::uint64_t> ranks);

// Writes NodePlan::multicast_ports, ascending.
void set_multicast_ports(const SwitchGraph& graph, std::span<const TreeCable> tree, Plan& plan);

}  // namespace verbatim::subnet

// Ranks of switches for up/down routes: updn and dnup.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/subnet/switch_graph.h"

namespace verbatim::subnet {

// Switches with all adapters at one distance. Without any, those with more than nine in ten adapters at one
// distance and no more than one in twenty at any other: OpenSM's rule, by which leaves of a fat tree of more
// than twenty pods are roots, too. Ascending numbers; may be empty, as in a ring.
std::vector<std::size_t> find_roots(const SwitchGraph& graph);

// Ranks for ShortestOptions: by hops from the nearest of `roots`, then by name.
std::vector<std::uint64_t> ranks_below(const SwitchGraph& graph, std::span<const std::size_t> roots);
// By hops from the nearest switch with adapters, the farthest first, then by name.
std::vector<std::uint64_t> ranks_above_adapters(const SwitchGraph& graph);

}  // namespace verbatim::subnet

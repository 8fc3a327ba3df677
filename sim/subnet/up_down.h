// Ranks of switches for routes that go up and then down: updn and dnup.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/subnet/switch_graph.h"

namespace verbatim::subnet {

// Switches with nearly all adapters at one distance: more than nine in ten, and at no other distance more than one in twenty. That is
// OpenSM's rule. Ascending numbers; may be empty, as in a ring.
std::vector<std::size_t> find_roots(const SwitchGraph& graph);

// Ranks as ShortestOptions has them: by hops from the nearest of `roots`, then by name.
std::vector<std::uint64_t> ranks_below(const SwitchGraph& graph, std::span<const std::size_t> roots);
// By hops from the nearest switch with adapters, the farthest first, then by name.
std::vector<std::uint64_t> ranks_above_adapters(const SwitchGraph& graph);

}  // namespace verbatim::subnet

// Routes of fat trees for which shift permutations (every adapter sends to the one `n` positions further) are
// free of congestion: ftree.
//
// Each destination has a main path: a chain of switches that leads down from a root. Packets go up to this
// chain and down it. Among several cables, the chain uses the one with the fewest chains so far, so that
// consecutive destinations have neighbouring chains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/subnet/switch_graph.h"

namespace verbatim::subnet {

// Writes the tables of `plan`, whose LIDs are assigned and less than `lids`. `roots`: numbers of switches; if
// empty, the fabric has to be a regular tree. Returns the reason why it cannot be routed, or "".
std::string compute_fat_tree_routes(const SwitchGraph& graph, const std::vector<Node>& nodes, std::size_t lids,
                                std::span<const std::size_t> roots, Plan& plan);

}  // namespace verbatim::subnet

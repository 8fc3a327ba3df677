// Routes of fat trees for which shift permutations (every adapter sends to the one `n` places on) are free of congestion: ftree.
//
// To each destination one chain of switches leads down from a root, its main way. Packets go up to this chain and down it. Where
// several cables lead on, the chain takes the one with the fewest chains so far, so destinations in a row have chains in a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/subnet/switch_graph.h"

namespace verbatim::subnet {

// Writes the tables of `plan`, whose addresses are given and fewer than `lids`. `roots`, numbers of switches: may be empty; then
// the fabric has to be a regular tree. Returns why it cannot be routed, or "".
std::string lay_fat_tree_routes(const SwitchGraph& graph, const std::vector<Node>& nodes, std::size_t lids,
                                std::span<const std::size_t> roots, Plan& plan);

}  // namespace verbatim::subnet

// Layers: the path between each two switches gets a service level, and thereby a lane, so that no lane has a
// cycle of outputs (lash, dfsssp). Both directions of a pair have the same level, as requests and responses
// do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/subnet/switch_graph.h"

namespace verbatim::subnet {

struct Layering {
  std::uint32_t layers = 1;
  std::shared_ptr<const ServiceLevels> levels;  // null: one layer is enough
};

// For the forwarding tables of `plan`, and its multicast tree, which has level 0. Pairs of switches are
// processed by number, and each gets the first layer that stays acyclic. nullopt: more than `lanes` layers
// are needed.
std::optional<Layering> assign_layers(const SwitchGraph& graph, std::size_t lids, std::uint32_t lanes, const Plan& plan);

// By LID: number of the switch with this LID, or of the switch that the adapter is attached to; kUnreachable:
// neither.
std::vector<std::uint32_t> switches_of_lids(const SwitchGraph& graph, std::size_t lids, const Plan& plan);

}  // namespace verbatim::subnet

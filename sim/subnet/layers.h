// Layers: the ways between each two switches get a service level, and with it a lane, such that no cycle of outputs is possible
// within one lane (lash, dfsssp). Both directions of a pair have the same level, as packets and their answers do.
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

// For the forwarding tables of `plan`, and its tree for packets to groups, which have level 0. Pairs of switches are taken by
// number, and each gets the first layer that stays free of cycles. Nothing: more than `lanes` layers would be needed.
std::optional<Layering> assign_layers(const SwitchGraph& graph, std::size_t lids, std::uint32_t lanes, const Plan& plan);

// By LID: number of the switch that an adapter is at, or that the LID is of; kFar: neither.
std::vector<std::uint32_t> switches_of_lids(const SwitchGraph& graph, std::size_t lids, const Plan& plan);

}  // namespace verbatim::subnet

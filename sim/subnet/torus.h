// Routes of tori and meshes in order of dimensions, without credit loops by two lanes: torus-2QoS
// (torus-2QoS(8)).
//
// Along each ring packets take the shorter direction. Bit d of a path's service level says whether the path
// crosses the dateline of dimension d, which is between the last switch and the first. Cables along dimension
// d have a lane for either value of that bit. If a cable of a ring is missing, packets take the other
// direction; the ring is a line then and needs no dateline.
//
// One switch may have failed, that is, have no cable to another one, or several that are neighbours along the
// last dimension. A path that would turn there turns one switch earlier, and turns back after it, against the
// order of dimensions. The hop after this turn has two lanes of its own (NodePlan::turn_lanes). Other
// failures of several switches are refused.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/subnet/routing.h"
#include "sim/subnet/switch_graph.h"

namespace verbatim::subnet {

// Writes the tables, levels and lanes of `plan`, whose LIDs are assigned and less than `lids`. Returns the
// reason why the fabric cannot be routed, or "".
std::string compute_torus_routes(const SwitchGraph& graph, const std::vector<Node>& nodes, std::size_t lids, const Torus& torus,
                             std::uint32_t lanes, Plan& plan);

}  // namespace verbatim::subnet

// htsim's description of a fat tree or of leaves and spines (.topo): head lines Nodes, Tiers and Podsize, then blocks `Tier
// n`.
#pragma once

#include <optional>
#include <string_view>

#include "sim/config/import/fabric.h"
#include "sim/config/import/lines.h"

namespace verbatim::config::imports {

// Lays cables as htsim's FatTreeTopology does. Hosts are named h0, …, switches tor0, …, agg0, … and core0, ….
// Returns nullopt, with findings, if the text is wrong or its numbers make no tree.
std::optional<Fabric> read_htsim_topology(std::string_view text, LineFindings& findings);

}  // namespace verbatim::config::imports

// htsim's description of a fat tree or of leaves and spines (.topo): head lines Nodes, Tiers and Podsize, then blocks `Tier
// n`.
#pragma once

#include <optional>
#include <string_view>

#include "sim/config/import/fabric.h"
#include "sim/config/import/lines.h"

namespace verbatim::config::imports {

// Cables as FatTreeTopology of htsim lays them; hosts h0, …, switches tor0, …, agg0, … and core0, …. Nothing, and findings,
// where the text is wrong or its numbers do not make a tree.
std::optional<Fabric> read_htsim_topology(std::string_view text, LineFindings& findings);

}  // namespace verbatim::config::imports

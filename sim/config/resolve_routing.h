// Resolves the routing of a topology's subnet manager: engines, roots, torus, sweeps.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/config/diagnostics.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// "torus 4 4m 2", as in the first line of torus-2QoS.conf: up to three sizes; a letter says whether the
// dimension is a torus or a mesh. nullopt if the text is not of this form.
std::optional<std::vector<subnet::Torus::Dimension>> parse_torus(std::string_view text);

// Fills TopologySpec::routing and TopologySpec::sweep. Names of switches must be known and adapters resolved.
void resolve_routing(TopologySpec& topology, Diagnostics& diagnostics);

}  // namespace verbatim::config

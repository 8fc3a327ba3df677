// Checks the identities that a topology gives to nodes: GUIDs are hexadecimal, and GUIDs and LIDs are unique.
#pragma once

#include "sim/config/diagnostics.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// Fills the resolved members of every NodeSpec. Adapters must be resolved.
void resolve_nodes(TopologySpec& topology, Diagnostics& diagnostics);

}  // namespace verbatim::config

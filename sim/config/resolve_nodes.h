// Identities of nodes that a topology gives: GUIDs are hexadecimal, and these and LIDs differ from each other.
#pragma once

#include "sim/config/diagnostics.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// Fills the resolved members of every NodeSpec. Its adapters are resolved.
void resolve_nodes(TopologySpec& topology, Diagnostics& diagnostics);

}  // namespace verbatim::config

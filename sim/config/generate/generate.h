// "generate" of a topology: hosts, switches and links of a regular shape, as if they stood in the file behind those that do.
#pragma once

#include "sim/config/diagnostics.h"
#include "sim/config/json_text.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// Adds the hosts, switches and links that "generate" asks for. Entries of the file (`json`, which `topology` was read from)
// that have the name or the ends of generated parts change these instead of being parts of their own. A shape that cannot be
// built is a finding, and nothing is added.
void generate(TopologySpec& topology, const Json& json, Diagnostics& diagnostics);

}  // namespace verbatim::config

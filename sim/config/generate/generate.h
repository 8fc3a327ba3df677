// Expands "generate" of a topology: hosts, switches and links of a regular shape, after those that the file
// writes.
#pragma once

#include "sim/config/diagnostics.h"
#include "sim/config/json_text.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// Adds the hosts, switches and links that "generate" asks for. An entry of the file (`json`, from which
// `topology` was read) with the name or the ends of a generated part changes that part and adds none of its
// own. If the shape cannot be built, a finding says so and nothing is added.
void generate(TopologySpec& topology, const Json& json, Diagnostics& diagnostics);

}  // namespace verbatim::config

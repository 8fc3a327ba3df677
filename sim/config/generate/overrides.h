// Applies hosts, switches and links of the file to generated parts with the same name or ends.
#pragma once

#include <cstddef>

#include "sim/config/diagnostics.h"
#include "sim/config/json_text.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// Numbers of hosts, switches and links in the file. In a topology's lists they precede the generated ones.
struct WrittenParts {
  std::size_t hosts, switches, links;
};

// A host or switch of the file with the name of a generated one overrides that one's keys; a link overrides
// those of the generated cable with the same ends. Ends without ports mean all cables between two devices.
// Removes these entries from the lists.
void apply_overrides(TopologySpec& topology, const WrittenParts& written, const Json& json, Diagnostics& diagnostics);

}  // namespace verbatim::config

// Applies hosts, switches and links of the file to generated parts with the same name or ends.
#pragma once

#include <cstddef>

#include "sim/config/diagnostics.h"
#include "sim/config/json_text.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// Number of parts in the file; generated ones follow in the lists.
struct WrittenParts {
  std::size_t hosts, switches, links;
};

// A host or switch with the name of a generated one sets its keys there, and a link sets its keys at the
// generated cable with the same ends. Ends without ports mean all cables between the two devices. These
// entries are then removed from the lists.
void apply_overrides(TopologySpec& topology, const WrittenParts& written, const Json& json, Diagnostics& diagnostics);

}  // namespace verbatim::config

// Hosts, switches and links of the file that change generated ones.
#pragma once

#include <cstddef>

#include "sim/config/diagnostics.h"
#include "sim/config/json_text.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// How many parts the file has; generated ones follow.
struct WrittenParts {
  std::size_t hosts, switches, links;
};

// A host or switch with the name of a generated one sets the keys that it has there, and a link those of the generated cable
// with the same ends; ends without ports are all cables between these two devices. Such entries are then no parts of their
// own.
void apply_overrides(TopologySpec& topology, const WrittenParts& written, const Json& json, Diagnostics& diagnostics);

}  // namespace verbatim::config

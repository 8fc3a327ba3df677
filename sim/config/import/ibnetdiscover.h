// The output of infiniband-diags' ibnetdiscover, which ibsim reads, and the shorter form of ibsim's own examples.
#pragma once

#include <optional>
#include <string_view>

#include "sim/config/import/fabric.h"
#include "sim/config/import/lines.h"

namespace verbatim::config::imports {

// Keeps GUIDs, LIDs, descriptions and device identifiers. Returns nullopt, with findings, if the text is
// wrong.
std::optional<Fabric> read_ibnetdiscover(std::string_view text, LineFindings& findings);

}  // namespace verbatim::config::imports

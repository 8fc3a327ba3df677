// The list of edges that the simulators of HPCC and its successors read ("topology.txt"): a line `nodes switches links`, a
// line with the switches' numbers, then a line `a b rate delay loss` for each link. Text behind the last link is ignored, as
// there.
#pragma once

#include <optional>
#include <string_view>

#include "sim/config/import/fabric.h"
#include "sim/config/import/lines.h"

namespace verbatim::config::imports {

// Hosts are h0, h1, …, switches sw320, …; ports are in the order of the links. Nothing, and findings, where the text is
// wrong.
std::optional<Fabric> read_edge_list(std::string_view text, LineFindings& findings);

}  // namespace verbatim::config::imports

// Reads the list of edges of HPCC's simulator and its successors ("topology.txt"): a line `nodes switches
// links`, a line with the numbers of the switches, then a line `a b rate delay loss` for each link. Text
// after the last link is ignored, as in those simulators.
#pragma once

#include <optional>
#include <string_view>

#include "sim/config/import/fabric.h"
#include "sim/config/import/lines.h"

namespace verbatim::config::imports {

// Hosts are named h0, h1, …, switches sw320, …; ports follow the order of the links. Returns nullopt, with
// findings, if the text is wrong.
std::optional<Fabric> read_edge_list(std::string_view text, LineFindings& findings);

}  // namespace verbatim::config::imports

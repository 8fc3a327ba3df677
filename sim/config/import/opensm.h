// Files that OpenSM and infiniband-diags write: the list of links (opensm-subnet.lst) and forwarding tables
// (opensm-lfts.dump and opensm.fdbs, dump_fts and ibroute).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/config/import/fabric.h"
#include "sim/config/import/lines.h"

namespace verbatim::config::imports {

// Keeps GUIDs, LIDs, descriptions and device identifiers. Returns nullopt, with findings, if the text is
// wrong.
std::optional<Fabric> read_opensm_links(std::string_view text, LineFindings& findings);

// Entries by the GUID of the switch. The reader returns nullopt, with findings, if the text is wrong.
using ForwardingTables = std::map<std::uint64_t, std::vector<TableEntry>>;
std::optional<ForwardingTables> read_forwarding_tables(std::string_view text, LineFindings& findings);

// Stores the tables in the fabric's switches. A table of an unknown switch, or a switch without one, is a
// finding.
void give_tables(const ForwardingTables& tables, Fabric& fabric, LineFindings& findings);

}  // namespace verbatim::config::imports

// What must hold between the lanes of a port and its arbitration tables.
#include "sim/config/profile_files.h"

namespace verbatim::config {

void check_arbitration(const fabric::ArbitrationTables& tables, std::uint32_t lanes, const std::string& file,
                       Diagnostics& diagnostics) {
  constexpr std::size_t kMostEntries = 64;  // IBA 7.6.9
  for (const auto& [key, table] : {std::pair("high", &tables.high), std::pair("low", &tables.low)}) {
    if (table->size() <= kMostEntries) continue;
    diagnostics.add(file, std::string("/arbitration/") + key,
                    std::to_string(table->size()) + " entries are more than a table has",
                    "at most " + std::to_string(kMostEntries));
  }
  const std::uint32_t served = tables.or_default().served_lanes();
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if ((served >> lane & 1) != 0) continue;
    diagnostics.add(file, "/arbitration",
                    "lane " + std::to_string(lane) + " has no weight in either table; its packets would never leave",
                    "give it an entry in \"high\" or \"low\", or lower \"virtual_lanes\"");
  }
}

}  // namespace verbatim::config

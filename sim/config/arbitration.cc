// Checks the arbitration tables of a port against its lanes.
#include <string_view>

#include "sim/config/profile_files.h"

namespace verbatim::config {

namespace {

// Adds a finding if these tables never serve some lanes.
void check_lanes(const fabric::ArbitrationTables& tables, std::uint32_t lanes, std::string_view place, std::string_view remedy,
                 const std::string& file, Diagnostics& diagnostics) {
  const std::uint32_t served = tables.or_default().served_lanes();
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if ((served >> lane & 1) != 0) continue;
    diagnostics.add(file, "/arbitration",
                    "lane " + std::to_string(lane) + " has no weight in " + std::string(place) +
                        "; its packets would never leave",
                    "give it an entry in " + std::string(remedy) + ", or lower \"virtual_lanes\"");
  }
}

void resolve_shares(fabric::ArbitrationTables& tables, std::uint32_t lanes, const std::string& file, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.findings().size();
  if (!tables.strict.empty()) {
    if (const auto strict = parse_priorities(tables.strict)) {
      tables.strict_lanes = *strict;
    } else {
      diagnostics.add(file, "/arbitration/strict", in_quotes(tables.strict) + " is not a list of lanes, 0 to 7",
                      R"(write "6", "6,7" or "5-7")");
    }
  }
  std::uint32_t seen = tables.strict_lanes;
  for (std::size_t i = 0; i < tables.shares.size(); ++i) {
    const fabric::ArbitrationEntry& entry = tables.shares[i];
    const std::string pointer = "/arbitration/shares/" + std::to_string(i);
    if ((seen >> entry.lane & 1) != 0) {
      const bool is_strict = (tables.strict_lanes >> entry.lane & 1) != 0;
      diagnostics.add(file, pointer + "/lane",
                      "lane " + std::to_string(entry.lane) + (is_strict ? " is strict already" : " has another entry already"),
                      "a lane is strict, or has one share");
    }
    if (entry.weight == 0) diagnostics.add(file, pointer + "/weight", "a lane without weight would never send", "1 to 255");
    seen |= 1u << entry.lane;
  }
  if (diagnostics.findings().size() > before) return;
  check_lanes(tables, lanes, "\"shares\", and is not strict", "\"shares\"", file, diagnostics);
}

}  // namespace

void resolve_arbitration(fabric::ArbitrationTables& tables, std::uint32_t lanes, const std::string& file,
                       Diagnostics& diagnostics) {
  constexpr std::size_t kMostEntries = 64;  // IBA 7.6.9
  for (const auto& [key, table] : {std::pair("high", &tables.high), std::pair("low", &tables.low)}) {
    if (table->size() <= kMostEntries) continue;
    diagnostics.add(file, std::string("/arbitration/") + key,
                    std::to_string(table->size()) + " entries are more than a table has",
                    "at most " + std::to_string(kMostEntries));
  }
  check_lanes(tables.without_ethernet(), lanes, "either table", "\"high\" or \"low\"", file, diagnostics);
  if (!tables.strict.empty() || !tables.shares.empty()) resolve_shares(tables, lanes, file, diagnostics);
}

}  // namespace verbatim::config

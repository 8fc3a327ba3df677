// Flow control of cables, memory of switches and marking, where one value depends on others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/diagnostics.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// "3", "3,4", "0-7": bit n for priority n. Nothing: it is no such list.
std::optional<std::uint8_t> parse_priorities(std::string_view text);
// Marking by a switch's profile, whose file is `file`.
void resolve_marking(fabric::MarkingProfile& marking, const std::string& file, Diagnostics& diagnostics);
// All cables have their ends, and all profiles are read.
void resolve_congestion(TopologySpec& topology, Diagnostics& diagnostics);
// The topology's key `congestion_control`.
void resolve_subnet_congestion(TopologySpec& topology, Diagnostics& diagnostics);

}  // namespace verbatim::config

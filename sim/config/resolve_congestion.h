// Checks and resolves flow control of cables, memory of switches and marking, where one value depends on
// others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/diagnostics.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// "3", "3,4", "0-7": bit n for priority n. nullopt if the text is not of this form.
std::optional<std::uint8_t> parse_priorities(std::string_view text);
// Resolves marking of a switch's profile, whose file is `file`.
void resolve_marking(fabric::MarkingProfile& marking, const std::string& file, Diagnostics& diagnostics);
// Needs the ends of all cables and all profiles.
void resolve_congestion(TopologySpec& topology, Diagnostics& diagnostics);
// Resolves the topology's key `congestion_control`.
void resolve_subnet_congestion(TopologySpec& topology, Diagnostics& diagnostics);

}  // namespace verbatim::config

// Patterns that name many hosts at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/spec.h"

namespace verbatim::config {

// `*` matches any characters but a slash, also none. [0-63] or [00-63], at most once, is each number of the
// range in order; a leading zero sets the number of digits. Returns nothing, and a sentence in `problem`, if
// the brackets hold no range, or one with more than 100,000 numbers.
std::vector<std::string> expand_ranges(std::string_view pattern, std::string* problem);
bool matches_stars(std::string_view pattern, std::string_view name);

// Adapters that match the patterns, in the order of the patterns and, for a pattern with stars, of the
// topology; each once. Findings point to `pointer` and the index in the list.
std::vector<std::uint32_t> find_adapters(const TopologySpec& topology, const std::vector<std::string>& patterns,
                                         const std::string& file, const std::string& pointer, Diagnostics& diagnostics);

}  // namespace verbatim::config

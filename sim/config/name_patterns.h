// Lists of names as people write them for many hosts at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/spec.h"

namespace verbatim::config {

// `*` stands for any letters but a slash, also none; [0-63] and [00-63], once, for the numbers in between, in
// order; a leading zero asks for that many digits. Empty, and a sentence: the brackets are none such, or have
// more than 100,000 numbers.
std::vector<std::string> expand_ranges(std::string_view pattern, std::string* problem);
bool matches_stars(std::string_view pattern, std::string_view name);

// Adapters by such patterns, in the order of the patterns, and those of one with stars in that of the
// topology; each once. Findings point to `pointer` and the place in the list.
std::vector<std::uint32_t> find_adapters(const TopologySpec& topology, const std::vector<std::string>& patterns,
                                         const std::string& file, const std::string& pointer, Diagnostics& diagnostics);

}  // namespace verbatim::config

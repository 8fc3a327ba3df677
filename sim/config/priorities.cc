// Parses DSCP values and their priorities in profiles.
#include <array>
#include <optional>

#include "sim/config/profile_files.h"

namespace verbatim::config {

namespace {

constexpr std::uint32_t kMostDscp = fabric::PriorityMap::kDscps - 1;

std::optional<std::uint32_t> parse_dscp(std::string_view text) {
  if (text.empty() || text.size() > 2) return std::nullopt;
  std::uint32_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = 10 * value + static_cast<std::uint32_t>(digit - '0');
  }
  return value <= kMostDscp ? std::optional(value) : std::nullopt;
}

// "26" or "24-31".
bool parse_range(fabric::DscpMapping& mapping) {
  const std::string_view text = mapping.dscp;
  const std::size_t dash = text.find('-');
  const auto first = parse_dscp(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_dscp(text.substr(dash + 1));
  if (!first || !last || *first > *last) return false;
  mapping.first = *first;
  mapping.last = *last;
  return true;
}

}  // namespace

void resolve_dscp_mappings(std::vector<fabric::DscpMapping>& mappings, const std::string& file, Diagnostics& diagnostics) {
  std::array<std::optional<std::size_t>, kMostDscp + 1> owners;
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    fabric::DscpMapping& mapping = mappings[i];
    const std::string pointer = "/dscp_to_priority/" + std::to_string(i) + "/dscp";
    if (!parse_range(mapping)) {
      diagnostics.add(file, pointer, in_quotes(mapping.dscp) + " is neither a DSCP value nor a range of them",
                      "values are 0 to " + std::to_string(kMostDscp) + "; write \"26\", or a range such as \"24-31\"");
      continue;
    }
    bool is_found = false;
    for (std::uint32_t dscp = mapping.first; dscp <= mapping.last; ++dscp) {
      if (owners[dscp] && !is_found) {
        is_found = true;
        diagnostics.add(file, pointer,
                        "the priority of DSCP " + std::to_string(dscp) + " is given by /dscp_to_priority/" +
                            std::to_string(*owners[dscp]) + " already",
                        "name each value once");
      }
      if (!owners[dscp]) owners[dscp] = i;
    }
  }
}

}  // namespace verbatim::config

#include "sim/config/name_patterns.h"

#include <charconv>
#include <unordered_map>

namespace verbatim::config {

std::vector<std::string> expand_ranges(std::string_view pattern, std::string* problem) {
  const std::size_t open = pattern.find('[');
  if (open == std::string_view::npos) return {std::string(pattern)};
  constexpr std::uint64_t kMost = 100'000;
  const std::size_t close = pattern.find(']', open), dash = pattern.find('-', open);
  std::uint64_t first = 0, last = 0;
  const auto read = [](std::string_view digits, std::uint64_t* number) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (close == std::string_view::npos || dash > close || pattern.find('[', open + 1) != std::string_view::npos ||
      !read(pattern.substr(open + 1, dash - open - 1), &first) || !read(pattern.substr(dash + 1, close - dash - 1), &last) ||
      first > last) {
    *problem = in_quotes(pattern) + " has no range such as [0-63]";
    return {};
  }
  if (last - first >= kMost) {
    *problem = in_quotes(pattern) + " expands to more than 100000 names";
    return {};
  }
  const std::size_t digits = pattern[open + 1] == '0' ? dash - open - 1 : 1;
  std::vector<std::string> names;
  for (std::uint64_t number = first; number <= last; ++number) {
    std::string text = std::to_string(number);
    if (text.size() < digits) text.insert(0, digits - text.size(), '0');
    names.push_back(std::string(pattern.substr(0, open)) + text + std::string(pattern.substr(close + 1)));
  }
  return names;
}

bool matches_stars(std::string_view pattern, std::string_view name) {
  // On a mismatch, the last star takes one more character.
  std::size_t p = 0, n = 0, star = std::string_view::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos && name[taken] != '/') {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::uint32_t> find_adapters(const TopologySpec& topology, const std::vector<std::string>& patterns,
                                         const std::string& file, const std::string& pointer, Diagnostics& diagnostics) {
  std::unordered_map<std::string_view, std::uint32_t> by_name;
  for (const AdapterSpec& adapter : topology.adapters)
    by_name.emplace(adapter.name, static_cast<std::uint32_t>(by_name.size()));
  std::vector<bool> is_taken(topology.adapters.size());
  std::vector<std::uint32_t> found;
  const auto take = [&](std::uint32_t adapter) {
    if (!is_taken[adapter]) found.push_back(adapter);
    is_taken[adapter] = true;
  };
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::string& pattern = patterns[i];
    std::string problem;
    for (const std::string& name : expand_ranges(pattern, &problem)) {
      bool has_any = false;
      if (name.find('*') == std::string::npos) {
        const auto adapter = by_name.find(name);
        if ((has_any = adapter != by_name.end())) take(adapter->second);
      } else {
        for (std::uint32_t adapter = 0; adapter < topology.adapters.size(); ++adapter) {
          if (!matches_stars(name, topology.adapters[adapter].name)) continue;
          take(adapter);
          has_any = true;
        }
      }
      if (!has_any) {
        problem = "the topology has no host " + in_quotes(name);
        break;
      }
    }
    if (problem.empty()) continue;
    std::vector<std::string> names;
    for (const AdapterSpec& adapter : topology.adapters) names.push_back(adapter.name);
    const std::string near = nearest(pattern, names);
    diagnostics.add(file, join_pointer(pointer, i), problem,
                    near.empty()
                        ? "name hosts of the topology, such as " + in_quotes(names.front()) + ", \"*\" or \"h[0-63]\""
                        : "did you mean \"" + near + "\"?");
  }
  return found;
}

}  // namespace verbatim::config

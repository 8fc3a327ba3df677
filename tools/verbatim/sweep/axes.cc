#include "tools/verbatim/sweep/axes.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "sim/config/tables.h"
#include "sim/core/words.h"

namespace verbatim::cli {

namespace {

using config::Json, config::in_quotes;

constexpr char kOption[] = "--vary";

std::optional<std::int64_t> whole_number_in(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return text.empty() || parsed.ec != std::errc() || parsed.ptr != end ? std::nullopt : std::optional(value);
}

// Splits at commas that are not in a string, list or object.
std::vector<std::string> split_values(std::string_view text) {
  std::vector<std::string> parts = {""};
  int depth = 0;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (is_in_string && letter == '\\' && i + 1 < text.size()) {
      parts.back() += letter;
      parts.back() += text[++i];
      continue;
    }
    if (letter == '"') is_in_string = !is_in_string;
    if (!is_in_string && (letter == '[' || letter == '{')) ++depth;
    if (!is_in_string && (letter == ']' || letter == '}')) --depth;
    if (letter == ',' && !is_in_string && depth <= 0)
      parts.emplace_back();
    else
      parts.back() += letter;
  }
  return parts;
}

void add_value(SweepAxis& axis, Json value) {
  axis.texts.push_back(value.is_string() ? value.get<std::string>()
                                         : value.dump(-1, ' ', false, Json::error_handler_t::replace));
  axis.values.push_back(std::move(value));
}

// Returns false with a finding.
bool add_values(SweepAxis& axis, const std::string& part, config::Diagnostics& diagnostics) {
  if (const std::size_t dots = part.find(".."); dots != part.npos) {
    const auto first = whole_number_in(std::string_view(part).substr(0, dots)),
               last = whole_number_in(std::string_view(part).substr(dots + 2));
    if (first && last) {
      if (*last < *first || static_cast<std::uint64_t>(*last) - static_cast<std::uint64_t>(*first) >= kMostSweepPoints) {
        diagnostics.add(kOption, "", in_quotes(part) + (*last < *first ? " is no range" : " has too many values"),
                        "write it like seed=1..5");
        return false;
      }
      for (std::int64_t value = *first; value <= *last; ++value) add_value(axis, value);
      return true;
    }
  }
  Json value = Json::parse(part, nullptr, false);
  if (part.empty() || value.is_discarded()) value = part;
  add_value(axis, std::move(value));
  return true;
}

// Keys of a JSON pointer without its first slash. "~1" is a slash, "~0" a tilde (RFC 6901).
std::vector<std::string> keys_of(std::string_view path) {
  std::vector<std::string> keys = {""};
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '/') {
      keys.emplace_back();
    } else if (path[i] == '~' && i + 1 < path.size() && (path[i + 1] == '0' || path[i + 1] == '1')) {
      keys.back() += path[++i] == '0' ? '~' : '/';
    } else {
      keys.back() += path[i];
    }
  }
  return keys;
}

std::vector<std::string> keys_in(const config::Object& table) {
  std::vector<std::string> keys;
  for (const config::Field& field : table.fields) keys.emplace_back(field.key);
  return keys;
}

// Determines whether the keys belong to the topology or the scenario. Returns false, with a finding, if to
// neither.
bool find_document(SweepAxis& axis, const std::string& path, config::Diagnostics& diagnostics) {
  const std::vector<std::string> of_scenario = keys_in(config::scenario_table()),
                                 of_topology = keys_in(config::topology_table());
  const auto is_in = [](const std::vector<std::string>& keys, const std::string& key) {
    return std::ranges::find(keys, key) != keys.end();
  };
  if (axis.keys.size() > 1 && axis.keys.front() == "topology") {
    axis.keys.erase(axis.keys.begin());
    axis.is_of_topology = true;
    if (is_in(of_topology, axis.keys.front())) return true;
  } else {
    if (is_in(of_scenario, axis.keys.front())) return true;
    axis.is_of_topology = is_in(of_topology, axis.keys.front());
    if (axis.is_of_topology) return true;
  }
  std::vector<std::string> all = of_topology;
  if (!axis.is_of_topology) all.insert(all.begin(), of_scenario.begin(), of_scenario.end());
  std::string near = config::nearest(axis.keys.front(), all);
  for (const std::string& key : all)
    if (near.empty() && !axis.keys.front().empty() && key.starts_with(axis.keys.front() + "_")) near = key;
  if (const auto of_generator = keys_in(config::generator_table()); is_in(of_generator, axis.keys.front())) near = "generate/" + axis.keys.front();
  diagnostics.add(kOption, "",
                  in_quotes(path) + " is no key of a " + (axis.is_of_topology ? "topology" : "scenario or a topology"),
                  near.empty() ? "write a path such as workloads/0/load" : "did you mean \"" + near + "\"?");
  return false;
}

std::optional<SweepAxis> parse_axis(const std::string& word, config::Diagnostics& diagnostics) {
  const std::size_t equals = word.find('=');
  if (equals == word.npos || equals == 0 || equals + 1 == word.size()) {
    diagnostics.add(kOption, "", in_quotes(word) + " is not of the form PATH=VALUE,...",
                    "write it like workloads/0/load=0.3,0.5,0.8");
    return std::nullopt;
  }
  SweepAxis axis;
  std::string path = word.substr(0, equals);
  if (path.starts_with('/')) path.erase(0, 1);
  axis.keys = keys_of(path);
  if (!find_document(axis, path, diagnostics)) return std::nullopt;
  axis.name = axis.is_of_topology ? "topology" : "";
  for (const std::string& key : axis.keys) axis.name = config::join_pointer(axis.name, key);
  if (axis.name.starts_with('/')) axis.name.erase(0, 1);
  axis.short_name = whole_number_in(axis.keys.back()) ? axis.name : axis.keys.back();
  for (const std::string& part : split_values(std::string_view(word).substr(equals + 1)))
    if (!add_values(axis, part, diagnostics)) return std::nullopt;
  std::set<std::string> seen;
  for (const std::string& text : axis.texts) {
    if (seen.insert(text).second) continue;
    diagnostics.add(kOption, "", in_quotes(word) + " has the value " + in_quotes(text) + " twice", "leave one of them out");
    return std::nullopt;
  }
  return axis;
}

}  // namespace

std::vector<SweepAxis> parse_axes(const std::vector<std::string>& words, config::Diagnostics& diagnostics) {
  std::vector<SweepAxis> axes;
  for (const std::string& word : words) {
    auto axis = parse_axis(word, diagnostics);
    if (!axis) continue;
    if (std::ranges::find(axes, axis->name, &SweepAxis::name) != axes.end()) {
      diagnostics.add(kOption, "", in_quotes(axis->name) + " is given twice", "write all its values behind one --vary");
      continue;
    }
    axes.push_back(std::move(*axis));
  }
  std::size_t count = 1;
  for (SweepAxis& axis : axes) {
    if (std::ranges::count(axes, axis.short_name, &SweepAxis::short_name) > 1) {
      const std::string ambiguous = axis.short_name;
      for (SweepAxis& other : axes)
        if (other.short_name == ambiguous) other.short_name = other.name;
    }
    count = std::min(kMostSweepPoints + 1, count * axis.values.size());
  }
  if (count > kMostSweepPoints)
    diagnostics.add(kOption, "", join("there are more than ", kMostSweepPoints, " combinations of values"),
                    "give fewer values");
  return axes;
}

std::vector<SweepPoint> points_of(const std::vector<SweepAxis>& axes) {
  std::vector<SweepPoint> points = {{}};
  for (const SweepAxis& axis : axes) {
    std::vector<SweepPoint> longer;
    for (const SweepPoint& point : points) {
      for (std::size_t i = 0; i < axis.values.size(); ++i) {
        longer.push_back(point);
        longer.back().push_back(i);
      }
    }
    points = std::move(longer);
  }
  return points;
}

std::string text_of(const std::vector<SweepAxis>& axes, const SweepPoint& point) {
  std::string text;
  for (std::size_t i = 0; i < axes.size(); ++i)
    text += (i == 0 ? "" : " ") + axes[i].short_name + "=" + axes[i].texts[point[i]];
  return text;
}

Json settings_of(const std::vector<SweepAxis>& axes, const SweepPoint& point) {
  Json settings = Json::object();
  for (std::size_t i = 0; i < axes.size(); ++i) settings[axes[i].name] = axes[i].values[point[i]];
  return settings;
}

std::string set_value(Json& document, const SweepAxis& axis, std::size_t value) {
  Json* at = &document;
  std::string pointer;
  for (std::size_t i = 0; i < axis.keys.size(); ++i) {
    const std::string& key = axis.keys[i];
    const bool is_last = i + 1 == axis.keys.size();
    if (at->is_object()) {
      if (is_last && axis.values[value].is_null()) {
        at->erase(key);
        return "";
      }
      if (!at->contains(key)) (*at)[key] = is_last ? Json() : Json::object();
      at = &(*at)[key];
    } else if (at->is_array()) {
      Json* found = nullptr;
      if (const auto index = whole_number_in(key); index && *index >= 0 && static_cast<std::size_t>(*index) < at->size()) {
        found = &(*at)[static_cast<std::size_t>(*index)];
      } else {
        // A workload without a name is named by its pattern.
        for (Json& element : *at) {
          if (!element.is_object()) continue;
          const char* const name = element.contains("name") ? "name" : "pattern";
          if (found == nullptr && element.contains(name) && element[name] == key) found = &element;
        }
      }
      if (found == nullptr)
        return pointer + " has " + join(at->size(), at->size() == 1 ? " element" : " elements") +
               ", numbered from 0, and none is called " + in_quotes(key);
      at = found;
    } else {
      return pointer + " has no keys below it";
    }
    pointer = config::join_pointer(pointer, key);
  }
  *at = axis.values[value];
  return "";
}

}  // namespace verbatim::cli

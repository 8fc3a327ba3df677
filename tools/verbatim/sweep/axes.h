// The axes of a sweep: keys of a scenario or of its topology, each with its values.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/config/json_text.h"

namespace verbatim::cli {

struct SweepAxis {
  std::string name;               // "workloads/0/load", "topology/routing_engine"
  std::string short_name;         // "load"; the whole name if that is ambiguous
  bool is_of_topology = false;    // the keys belong to the topology's file
  std::vector<std::string> keys;  // of the JSON pointer
  std::vector<config::Json> values;
  std::vector<std::string> texts;  // the values as text
};

// Parses the words of --vary, each PATH=VALUE,... A path is a JSON pointer without its first slash. It refers
// to the topology if it begins with "topology", or if its first key exists in topologies only. Elements of
// lists are given by number or name. A value is JSON, or else a text; null removes the key; A..B is each
// whole number from A to B.
std::vector<SweepAxis> parse_axes(const std::vector<std::string>& words, config::Diagnostics& diagnostics);

// Every combination of values, the last axis varying fastest: the index of the value in each axis.
using SweepPoint = std::vector<std::size_t>;
inline constexpr std::size_t kMostSweepPoints = 100'000;
std::vector<SweepPoint> points_of(const std::vector<SweepAxis>& axes);

// "load=0.3 routing_engine=updn".
std::string text_of(const std::vector<SweepAxis>& axes, const SweepPoint& point);
// Values by whole names of the axes.
config::Json settings_of(const std::vector<SweepAxis>& axes, const SweepPoint& point);

// Sets a value in a document. Returns a sentence if the path does not exist, else "".
std::string set_value(config::Json& document, const SweepAxis& axis, std::size_t value);

}  // namespace verbatim::cli

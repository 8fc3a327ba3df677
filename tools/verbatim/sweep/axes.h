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
  std::string short_name;         // "load"; the whole name if that would not say which is meant
  bool is_of_topology = false;    // the keys are those of the topology's file
  std::vector<std::string> keys;  // of the JSON pointer
  std::vector<config::Json> values;
  std::vector<std::string> texts;  // the values, as people read them
};

// Reads the words of --vary, each PATH=VALUE,... A path is a JSON pointer without its first slash, into the
// topology if "topology" comes first, or if its first key is one of topologies and none of scenarios; an
// element of a list goes by its number or its name. A value is JSON, or else a text; null leaves the key out;
// A..B is each whole number from A to B.
std::vector<SweepAxis> parse_axes(const std::vector<std::string>& words, config::Diagnostics& diagnostics);

// Every combination of values, the last axis changes first: for each, the place of its value in each axis.
using SweepPoint = std::vector<std::size_t>;
inline constexpr std::size_t kMostSweepPoints = 100'000;
std::vector<SweepPoint> points_of(const std::vector<SweepAxis>& axes);

// "load=0.3 routing_engine=updn".
std::string text_of(const std::vector<SweepAxis>& axes, const SweepPoint& point);
// By the whole names of the axes.
config::Json settings_of(const std::vector<SweepAxis>& axes, const SweepPoint& point);

// Sets a value in a document. A sentence, if the path leads nowhere; else empty.
std::string set_value(config::Json& document, const SweepAxis& axis, std::size_t value);

}  // namespace verbatim::cli

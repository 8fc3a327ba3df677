// A fabric as a picture (SVG) and as text of Graphviz (DOT).
#pragma once

#include <string>

#include "sim/config/spec.h"

namespace verbatim::cli {

// Hosts below, switches above them layer by layer; large fabrics as boxes that say how many nodes and cables they stand for.
std::string picture_of(const config::TopologySpec& topology);

// Every host, switch and cable, switches of one layer at one rank.
std::string dot_of(const config::TopologySpec& topology);

}  // namespace verbatim::cli

// A fabric as a picture (SVG) or as text for Graphviz (DOT).
#pragma once

#include <string>

#include "sim/config/spec.h"

namespace verbatim::cli {

// Hosts at the bottom, switches above them layer by layer. Large fabrics are drawn with boxes that show the
// number of nodes and cables.
std::string picture_of(const config::TopologySpec& topology);

// Every host, switch and cable; switches of one layer have one rank.
std::string dot_of(const config::TopologySpec& topology);

}  // namespace verbatim::cli

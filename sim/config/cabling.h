// A checked topology as the subnet sees it: nodes, cables, and the plan of LIDs and routes.
#pragma once

#include <string>
#include <vector>

#include "sim/config/spec.h"
#include "sim/subnet/subnet.h"

namespace verbatim::config {

// Hosts first, then switches, in the order of the spec.
std::vector<subnet::Node> nodes_of(const TopologySpec& topology);
std::vector<subnet::Cable> cables_of(const TopologySpec& topology);
inline subnet::Plan plan_of(const TopologySpec& topology) {
  return subnet::plan(nodes_of(topology), cables_of(topology));
}

// The hops of a packet from one host to another: "leaf0:1", "leaf0:2" (in, out), … up to the port of `to`.
// Empty when no route leads there.
std::vector<std::string> route(const TopologySpec& topology, const subnet::Plan& plan, std::size_t from,
                               std::size_t to);

}  // namespace verbatim::config

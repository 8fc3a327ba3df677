// A checked topology as the subnet sees it: nodes, cables, and the plan of LIDs and routes.
#pragma once

#include <string>
#include <vector>

#include "sim/config/spec.h"
#include "sim/fabric/switch.h"
#include "sim/subnet/subnet.h"

namespace verbatim::config {

// Adapters first, then switches, in the order of the spec.
std::vector<subnet::Node> nodes_of(const TopologySpec& topology);
std::vector<subnet::Cable> cables_of(const TopologySpec& topology);
inline subnet::Plan plan_of(const TopologySpec& topology) {
  return subnet::plan(nodes_of(topology), cables_of(topology), topology.is_roce());
}

// By index, as programs see them: on InfiniBand the link-local one; on Ethernet that of the MAC address, then
// those of its interface's IPv4 and IPv6 addresses.
std::vector<ib::Gid> gids_of(const TopologySpec& topology, const subnet::Plan& plan, std::size_t adapter);

// By adapter.
std::vector<std::vector<std::uint16_t>> pkey_tables_of(const TopologySpec& topology);

// The hops of a packet from one adapter to another: "leaf0:1", "leaf0:2" (in, out), … up to the port of `to`.
// Empty when no route leads there. On Ethernet other flows may take ways of the same length: one of them.
std::vector<std::string> route(const TopologySpec& topology, const subnet::Plan& plan, std::size_t from,
                               std::size_t to);

}  // namespace verbatim::config

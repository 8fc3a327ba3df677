// Descriptions of nodes for their management agents, from the topology and the plan of its subnet.
#pragma once

#include <cstddef>

#include "sim/config/cabling.h"
#include "sim/config/spec.h"
#include "sim/management/node.h"
#include "sim/subnet/subnet.h"

namespace verbatim::config {

// If the simulation does not manage the subnet (TopologySpec::manages_subnet()), LIDs and tables are empty.
// `pkeys` are the adapter's.
management::Node adapter_node(const TopologySpec& topology, const CableIndex& cables, const subnet::Plan& plan, std::size_t host,
                              const std::vector<std::uint16_t>& pkeys);
management::Node switch_node(const TopologySpec& topology, const CableIndex& cables, const subnet::Plan& plan, std::size_t index);

}  // namespace verbatim::config

// Nodes as their management agents know them, from the topology and the plan of its subnet.
#pragma once

#include <cstddef>
#include <optional>

#include "sim/config/spec.h"
#include "sim/management/node.h"
#include "sim/subnet/subnet.h"

namespace verbatim::config {

// The far end of a cable; nothing: there is none.
std::optional<Endpoint> far_end(const TopologySpec& topology, const Endpoint& end);

// Without a manager of its own (TopologySpec::manages_subnet()) the subnet has no LIDs and tables yet. `pkeys`: the adapter's.
management::Node adapter_node(const TopologySpec& topology, const subnet::Plan& plan, std::size_t host,
                              const std::vector<std::uint16_t>& pkeys);
management::Node switch_node(const TopologySpec& topology, const subnet::Plan& plan, std::size_t index);

}  // namespace verbatim::config

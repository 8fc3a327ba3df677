// Routes of a fabric of Ethernet whose cables between switches fail and are repaired by a script: what a routing protocol such
// as BGP brings about. At any time the routes are those of the cables that were intact `convergence_time` before, by the planner
// that lays the first ones (sim/subnet). A cable to an adapter changes no routes: switches announce networks, not hosts.
#pragma once

#include <vector>

#include "sim/config/spec.h"
#include "sim/fabric/rerouting.h"

namespace verbatim::config {

// By switch. Empty lists: no cable between switches fails. The topology is one of Ethernet.
std::vector<std::vector<fabric::RouteChange>> route_changes_of(const TopologySpec& topology,
                                                               const std::vector<FaultSpec>& faults);

}  // namespace verbatim::config

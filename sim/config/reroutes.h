// Route changes of a fabric whose cables between switches fail and are repaired by a script. After each
// change, routes become those of the intact cables, computed by the planner of the first routes (sim/subnet).
// On Ethernet this takes `convergence_time`, as with a routing protocol such as BGP; on InfiniBand
// `sweep_time`, the subnet manager's sweep, unless that is off. A cable to an adapter changes no routes:
// switches announce networks, not hosts, and a subnet manager leaves its LID in the tables.
#pragma once

#include <string>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/config/path_changes.h"
#include "sim/config/spec.h"
#include "sim/fabric/rerouting.h"
#include "sim/subnet/subnet.h"

namespace verbatim::config {

struct Reroutes {
  // By switch. The lists are empty if no cable between switches fails, or if routes never change.
  std::vector<std::vector<fabric::RouteChange>> by_switch;
  std::vector<PathChange> paths;  // InfiniBand only, by time
  // States of the cables that the routing engine cannot route: one sentence each, with the time of the
  // failure.
  std::vector<std::string> refusals;
};

// `whole` is the plan with all cables; on InfiniBand it is restored when the last one is repaired. `manager`
// is the port for which sweeps are recorded. Without a manager, or if no engine can route the remaining
// cables, tables stay as they are.
Reroutes route_changes_of(const TopologySpec& topology, const std::vector<FaultSpec>& faults, const subnet::Plan& whole,
                          ComponentId manager = {});

// Warns about states of the cables, caused by the scenario's faults, that the routing engine cannot route.
void warn_of_reroutes(const ScenarioSpec& scenario, Diagnostics& diagnostics);

}  // namespace verbatim::config

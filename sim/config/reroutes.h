// Routes of a fabric whose cables between switches fail and are repaired by a script. At any time they are those of the cables
// that were intact some time before, by the planner that lays the first ones (sim/subnet). On Ethernet a routing protocol such as
// BGP brings this about, within `convergence_time`; on InfiniBand the subnet manager's sweep, within `sweep_time`, if it is not
// off. A cable to an adapter changes no routes: switches announce networks, not hosts, and a subnet manager leaves its LID in the
// tables.
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
  // By switch. Empty lists: no cable between switches fails, or nobody lays new routes.
  std::vector<std::vector<fabric::RouteChange>> by_switch;
  std::vector<PathChange> paths;  // on InfiniBand, by time
  // States of the cables that the routing engine has not been able to route: one sentence each, with the time of the failure.
  std::vector<std::string> refusals;
};

// `whole`: the plan of all cables, which on InfiniBand comes back when the last one is repaired. `manager`: port that the sweeps
// are recorded for. Without a manager, or where no engine can route what is left, tables stay as they are.
Reroutes route_changes_of(const TopologySpec& topology, const std::vector<FaultSpec>& faults, const subnet::Plan& whole,
                          ComponentId manager = {});

// Warns of states of the cables, as the scenario's faults bring them about, that the routing engine cannot route.
void warn_of_reroutes(const ScenarioSpec& scenario, Diagnostics& diagnostics);

}  // namespace verbatim::config

// The flows of a scenario as traffic of a simulation's adapters.
#pragma once

#include <vector>

#include "sim/config/simulation.h"
#include "sim/workload/workload.h"

namespace verbatim::config {

// Adds checked flows (load.h) in their order; before the first event. A path has service level 0, the greatest MTU that both
// adapters have, and the first P_Key of the sender by which both may talk; where there is none the flow fails as a program's
// packets would.
void add_flows(Simulation& simulation, const std::vector<FlowSpec>& flows, workload::Workload& workload);

}  // namespace verbatim::config

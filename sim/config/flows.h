// The flows of a scenario as traffic of a simulation's adapters.
#pragma once

#include <vector>

#include "sim/config/simulation.h"
#include "sim/workload/workload.h"

namespace verbatim::config {

// Adds checked flows (load.h) in their order; before the first event. A path goes by service level 0 with the greatest MTU of both
// adapters, and by the first partition in whose tables both are and may talk; where there is none the flow fails as a program's
// packets would.
void add_flows(Simulation& simulation, const std::vector<FlowSpec>& flows, workload::Workload& workload);

}  // namespace verbatim::config

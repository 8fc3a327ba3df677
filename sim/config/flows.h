// The flows of a scenario as traffic of a simulation's adapters.
#pragma once

#include <vector>

#include "sim/config/graphs.h"
#include "sim/config/simulation.h"
#include "sim/workload/workload.h"

namespace verbatim::config {

// The greatest MTU (an ibv_mtu) that both adapters have.
std::uint32_t path_mtu(const hca::Endpoint& from, const hca::Endpoint& to);

// Adds checked flows; before the first event. They get their queue pairs in an order that follows from what they are, so that
// their order in the file changes nothing. A path has the level that its kind asks for, the greatest MTU that both adapters have,
// and the first P_Key of the sender by which both may talk; where there is none the flow fails as a program's packets would.
// Returns them in the order of the traffic.
std::vector<const workload::Flow*> add_traffic(Simulation& simulation, const workload::Traffic& traffic,
                                               workload::Workload& workload);

// The same for graphs, in their order: behind the flows.
std::vector<const workload::GraphRun*> add_graphs(Simulation& simulation, const std::vector<DrawnGraph>& graphs,
                                                  workload::Workload& workload);

}  // namespace verbatim::config

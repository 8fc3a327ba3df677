// Creates the traffic of a scenario on a simulation's adapters.
#pragma once

#include <vector>

#include "sim/config/graphs.h"
#include "sim/config/simulation.h"
#include "sim/workload/workload.h"

namespace verbatim::config {

// The greatest MTU (an ibv_mtu) that both adapters support.
std::uint32_t path_mtu(const hca::Endpoint& from, const hca::Endpoint& to);

// Adds checked flows, before the first event. Queue pairs are created in an order that follows from the
// flows' contents, so their order in the file changes nothing. A flow uses the service level of its kind, the
// greatest MTU of both adapters, and the first P_Key of the sender that matches one of the receiver; without
// a match it fails as a program's packets would. Returns the flows in the order of the traffic.
std::vector<const workload::Flow*> add_traffic(Simulation& simulation, const workload::Traffic& traffic,
                                               workload::Workload& workload);

// Adds loads without end, and returns them in their order. The traffic must outlive them.
std::vector<const workload::PoissonLoad*> add_loads(Simulation& simulation, const workload::Traffic& traffic,
                                                    workload::Workload& workload);

// Adds graphs after the flows, and returns them in their order.
std::vector<const workload::GraphRun*> add_graphs(Simulation& simulation, const std::vector<DrawnGraph>& graphs,
                                                  workload::Workload& workload);

}  // namespace verbatim::config

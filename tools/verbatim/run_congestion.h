// Congestion of a run, as run.json has it.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/config/simulation.h"
#include "sim/observe/congestion.h"

namespace verbatim::cli {

// Sums, and the worst of each kind.
nlohmann::ordered_json congestion_of(const observe::Congestion& congestion);
// A list of ports, and of adapters and switches that have dropped packets, in the order of their components; each with its lanes
// (priorities, on Ethernet). Those that pause, mark or drop, and outputs of switches that more has waited for than the largest
// packet of InfiniBand. `congestion` is finished.
nlohmann::ordered_json ports_of(config::Simulation& simulation, const observe::Congestion& congestion);
// Counters of notification points and reaction points (mlx5's names) by adapter, of those that have counted something.
nlohmann::ordered_json congestion_counters_of(config::Simulation& simulation);

}  // namespace verbatim::cli

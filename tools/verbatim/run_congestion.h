// Congestion of a run in run.json.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/config/simulation.h"
#include "sim/observe/congestion.h"

namespace verbatim::cli {

// Sums, and the worst port or queue pair of each kind.
nlohmann::ordered_json congestion_of(const observe::Congestion& congestion);
// Ports, and adapters and switches that dropped packets, in the order of their components, each with its
// lanes (priorities on Ethernet). Included are ports that pause, mark or drop, and outputs of switches whose
// queues exceeded the largest packet of InfiniBand. `congestion` must be finished.
nlohmann::ordered_json ports_of(config::Simulation& simulation, const observe::Congestion& congestion);
// Counters of notification and reaction points (mlx5's names) of adapters with nonzero counters.
nlohmann::ordered_json congestion_counters_of(config::Simulation& simulation);

}  // namespace verbatim::cli

// The simulated hosts of a run as the supervisor gets them.
#pragma once

#include <string>
#include <vector>

#include "sim/config/simulation.h"
#include "sim/supervisor/spec/host_spec.h"

namespace verbatim::cli {

// Why this machine's processor cannot run the programs of a host: a sentence; empty: it can.
std::string lacking_processor(const config::TopologySpec& topology);

// In the order of the topology's hosts; they refer to the simulation's adapters.
std::vector<supervisor::HostSpec> host_specs(config::Simulation& simulation);

}  // namespace verbatim::cli

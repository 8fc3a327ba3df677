// Makes the supervisor's specs of a run's simulated hosts.
#pragma once

#include <string>
#include <vector>

#include "sim/config/simulation.h"
#include "sim/supervisor/spec/host_spec.h"

namespace verbatim::cli {

// A sentence if this machine's processor cannot run the programs of some host; else empty.
std::string lacking_processor(const config::TopologySpec& topology);

// In the order of the topology's hosts; they refer to adapters of the simulation.
std::vector<supervisor::HostSpec> host_specs(config::Simulation& simulation);

}  // namespace verbatim::cli

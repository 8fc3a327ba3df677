// Device profiles from topologies/.
#pragma once

#include <string>

#include "sim/hca/hca_profile.h"

namespace verbatim::fidelity {

// The profile of the first host of topologies/TOPOLOGY.json. On errors, prints the findings and exits.
hca::HcaProfile hca_profile_of(const std::string& topology);
// The profile topologies/profiles/NAME.json. On errors, prints the findings and exits.
hca::HcaProfile adapter_profile(const std::string& name);

}  // namespace verbatim::fidelity

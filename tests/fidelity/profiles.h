// Device profiles as topologies/ has them.
#pragma once

#include <string>

#include "sim/hca/hca_profile.h"

namespace verbatim::fidelity {

// Profile of the first host of topologies/TOPOLOGY.json. Ends the program with the findings on errors.
hca::HcaProfile hca_profile_of(const std::string& topology);
// topologies/profiles/NAME.json. Ends the program with the findings on errors.
hca::HcaProfile adapter_profile(const std::string& name);

}  // namespace verbatim::fidelity

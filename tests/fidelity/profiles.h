// Device profiles as topologies/ has them.
#pragma once

#include <string>

#include "sim/hca/hca_profile.h"

namespace verbatim::fidelity {

// Of the first host of topologies/TOPOLOGY.json. Ends the program with the findings when that is not right.
hca::HcaProfile hca_profile_of(const std::string& topology);
// topologies/profiles/NAME.json. Likewise.
hca::HcaProfile adapter_profile(const std::string& name);

}  // namespace verbatim::fidelity

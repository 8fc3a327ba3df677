// Parameters of a case's link for sim/fabric.
#pragma once

#include "sim/fabric/channel.h"
#include "tests/timing/reference/fabric_case.h"

namespace verbatim::timing {

fabric::LinkParams link_params_of(const LinkCase& link);

}  // namespace verbatim::timing

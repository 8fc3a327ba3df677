// What a run needs of the limits that its caller has set (ulimit), asked before anything is started and by
// `verbatim check --host`.
#pragma once

#include <vector>

#include "sim/supervisor/spec/options.h"

namespace verbatim::supervisor {

std::vector<Facility> check_limits();

}  // namespace verbatim::supervisor

// Checks the caller's resource limits (ulimit) before anything starts, and for `verbatim check --host`.
#pragma once

#include <vector>

#include "sim/supervisor/spec/options.h"

namespace verbatim::supervisor {

std::vector<Facility> check_limits();

}  // namespace verbatim::supervisor

// Objects of a run that most parts of the supervisor use; all outlive them.
#pragma once

#include <vector>

#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/supervisor/spec/host_spec.h"
#include "sim/supervisor/spec/options.h"

namespace verbatim::supervisor {

struct RunContext {
  Engine& engine;
  Tracer& tracer;
  Choices& choices;
  const std::vector<HostSpec>& hosts;
  const SupervisorOptions& options;
};

}  // namespace verbatim::supervisor

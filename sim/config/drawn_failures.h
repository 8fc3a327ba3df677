// Failures that freedom spec may bring about within a scenario's budget (FreedomSpec::failures).
#pragma once

#include "sim/config/spec.h"
#include "sim/core/choice.h"

namespace verbatim::config {

// Adds to the scenario what fails, as the choices have it: faults of links and adapters, and times at which programs are killed,
// each marked as drawn. Nothing where the budget is 0 or nothing is free. The scenario is resolved.
void draw_failures(ScenarioSpec& scenario, Choices& choices);

}  // namespace verbatim::config

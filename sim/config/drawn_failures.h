// Failures that a run with freedom spec draws within the scenario's budget (FreedomSpec::failures).
#pragma once

#include "sim/config/spec.h"
#include "sim/core/choice.h"

namespace verbatim::config {

// Adds the drawn failures to a resolved scenario: faults of links and adapters, and times at which programs
// are killed, each marked as drawn. Adds nothing if the budget is 0 or the run has no freedom.
void draw_failures(ScenarioSpec& scenario, Choices& choices);

}  // namespace verbatim::config

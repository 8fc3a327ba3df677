// Choices about traffic without programs. Index 0 of every site is the scenario's time.
#pragma once

#include "sim/core/choice.h"

namespace verbatim::workload::freedom {

// Delay of all background flows of one adapter, relative to the scenario: up to 1.6 ms. Flows of endless
// loads have a separate choice. Flows that a trigger starts follow those that fire it.
inline constexpr DelaySite kBackgroundPhase{"background-phase", Duration(100'000), 14};

}  // namespace verbatim::workload::freedom

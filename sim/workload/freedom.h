// Choices about traffic that no program makes. Index 0 of every site is the time in the scenario.
#pragma once

#include "sim/core/choice.h"

namespace verbatim::workload::freedom {

// How much later than in the scenario the background flows of one adapter start, all by the same time: up to 1.6 ms. Flows of
// loads without end have a choice of their own. Flows that a trigger starts follow those that fire it.
inline constexpr DelaySite kBackgroundPhase{"background-phase", Duration(100'000), 14};

}  // namespace verbatim::workload::freedom

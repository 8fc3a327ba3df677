// The priorities that switches mark (ECN), and traffic of other ones, whose senders are not notified of
// congestion.
#pragma once

#include <string>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/config/spec.h"

namespace verbatim::config {

// As written, such as "1-7" or "3,4"; "": none.
std::string marked_priorities(const fabric::MarkingProfile& marking);

// Warns about each kind of traffic whose controller needs notifications and whose priority no switch marks,
// where switches mark others. `pointers`: the place in the scenario of each kind.
void warn_of_unmarked_traffic(const ScenarioSpec& scenario, const std::vector<std::string>& pointers,
                              Diagnostics& diagnostics);

}  // namespace verbatim::config

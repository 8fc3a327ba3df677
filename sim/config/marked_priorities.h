// The priorities that switches mark (ECN) and pause (PFC), and traffic that they do not mark or pause although it needs it.
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

// Warns about each kind of traffic that leaves its adapter by another lane, made of the service level, than the priority that
// the switch makes of its DSCP: the switch's pauses do not stop it, and what finds no space is lost.
void warn_of_unpaused_traffic(const ScenarioSpec& scenario, const std::vector<std::string>& pointers,
                              Diagnostics& diagnostics);

}  // namespace verbatim::config

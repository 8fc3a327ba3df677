// The profiles of freedom by name: what a run does with what the specification leaves open.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/spec.h"
#include "sim/hca/quirks.h"

namespace verbatim::config {

// "friendly", "spec", and "quirk:NAME" of each quirk and of all.
const std::vector<std::string>& freedom_names();
// Whether choices are drawn: of every profile but friendly.
inline bool is_free(std::string_view freedom) { return freedom != "friendly"; }
// Those of "quirk:torn8"; all of "quirk:all"; 0 of the others.
hca::Quirks quirks_of(std::string_view freedom);
// Every adapter has those of the scenario's freedom, and no others.
void set_quirks(ScenarioSpec& scenario);

}  // namespace verbatim::config

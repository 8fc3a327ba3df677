// The profiles of freedom by name: which behaviours that the specification leaves open a run uses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/spec.h"
#include "sim/hca/quirks.h"

namespace verbatim::config {

// "friendly", "spec", and "quirk:NAME" for each quirk and for "all".
const std::vector<std::string>& freedom_names();
// Whether choices are drawn at random: with every profile but friendly.
inline bool is_free(std::string_view freedom) { return freedom != "friendly"; }
// The quirk of "quirk:NAME", or all quirks for "quirk:all"; 0 for other profiles.
hca::Quirks quirks_of(std::string_view freedom);
// Gives every adapter exactly the quirks of the scenario's profile of freedom.
void set_quirks(ScenarioSpec& scenario);

}  // namespace verbatim::config

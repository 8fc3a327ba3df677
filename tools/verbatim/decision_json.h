// Decisions as JSON: {"site", "actor", "occurrence", "answer", "of", "time_ps"}. For a detail of a choice,
// "occurrence" is the choice's, and "part" the number of earlier questions of the detail, if not 0.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "sim/explore/decision.h"

namespace verbatim::cli {

nlohmann::ordered_json to_json(const std::vector<explore::Decision>& decisions);
// Throws nlohmann::json::exception if `json` is not in the form of to_json().
std::vector<explore::Decision> decisions_of(const nlohmann::ordered_json& json);

}  // namespace verbatim::cli

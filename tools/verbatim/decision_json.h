// Decisions as JSON: {"site", "actor", "occurrence", "answer", "of", "time_ps"}; of a detail "occurrence" is that of the choice,
// and "part" how many questions of the detail came before, when it is not 0.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "sim/explore/decision.h"

namespace verbatim::cli {

nlohmann::ordered_json to_json(const std::vector<explore::Decision>& decisions);
// Throws nlohmann::json::exception where `json` is not what to_json() gives.
std::vector<explore::Decision> decisions_of(const nlohmann::ordered_json& json);

}  // namespace verbatim::cli

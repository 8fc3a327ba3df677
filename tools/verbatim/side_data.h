// The sides of a run as the page of `verbatim report` reads them.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "tools/verbatim/run_sides.h"

namespace verbatim::cli {

// `places`: of each of the picture's columns, where it is in the page.
nlohmann::ordered_json sides_json(const RunSides& sides, const std::vector<int>& places);

}  // namespace verbatim::cli

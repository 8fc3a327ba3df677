// The sides of a run as the page of `verbatim report` reads them.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/verbatim/run_sides.h"

namespace verbatim::cli {

// All but the writes and waits, which are blocks (page_rows.h).
nlohmann::ordered_json sides_json(const RunSides& sides);

}  // namespace verbatim::cli

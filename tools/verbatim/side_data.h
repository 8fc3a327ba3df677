// The sides of a run as the page of `verbatim report` reads them.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/verbatim/page_series.h"
#include "tools/verbatim/run_sides.h"

namespace verbatim::cli {

// All but the writes and waits, which are blocks (page_rows.h). `series` takes the levels of queues over time, and the JSON has
// the numbers that it gives them.
nlohmann::ordered_json sides_json(const RunSides& sides, PageSeries& series);

}  // namespace verbatim::cli

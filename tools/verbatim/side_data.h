// The parts below the ladder as JSON for the page of `verbatim report`.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/verbatim/page_series.h"
#include "tools/verbatim/run_sides.h"

namespace verbatim::cli {

// Everything except writes and waits, which are blocks (page_rows.h). `series` stores the queue levels over
// time; the JSON refers to them by number.
nlohmann::ordered_json sides_json(const RunSides& sides, PageSeries& series);

}  // namespace verbatim::cli

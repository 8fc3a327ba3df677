// Results of a sweep's points: a table, a CSV file, JSON lines, a page.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/verbatim/compare/run_summary.h"
#include "tools/verbatim/sweep/axes.h"

namespace verbatim::cli {

struct PointResult {
  std::size_t number = 0;  // from 1
  SweepPoint point;
  int exit_code = 0;
  std::string finding;            // its message; empty: as expected
  std::optional<RunSummary> run;  // nullopt: no run.json
};

nlohmann::ordered_json to_json(const std::vector<SweepAxis>& axes, const PointResult& result);
// A header, and a line for each point.
std::string csv_of(const std::vector<SweepAxis>& axes, const std::vector<PointResult>& results);
// The table for people, with a heading. Columns without information are omitted.
std::vector<std::vector<std::string>> table_of(const std::vector<SweepAxis>& axes, const std::vector<PointResult>& results);
std::string sweep_page(const std::string& scenario, const std::vector<SweepAxis>& axes,
                       const std::vector<PointResult>& results);

}  // namespace verbatim::cli

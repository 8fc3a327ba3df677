// Figures of several runs side by side: one list, from which the table, the page and the JSON document are
// made.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/verbatim/compare/run_summary.h"

namespace verbatim::cli {

enum class FigureUnit : std::uint8_t { kText, kCount, kBytes, kTime, kRate, kBandwidth };  // ps, Mbps, bytes a second

// "1234.567 us", "8 MiB", "98.6 Gbps", "11.872 GB/s".
std::string figure_text(std::uint64_t value, FigureUnit unit);

struct Figure {
  std::string section, name;
  FigureUnit unit = FigureUnit::kCount;
  std::vector<std::optional<std::uint64_t>> values;  // of each run; nullopt: it has none
  std::vector<std::string> texts;                    // with kText, instead

  // As tables show it: the value, and behind the first run's the ratio to that, "x1.25".
  std::string cell(std::size_t run) const;
  // In thousandths, rounded; nullopt: one of the two has no value, or the first is 0.
  std::optional<std::uint64_t> ratio_to_first(std::size_t run) const;
};

// At least two runs. Sections in their order: inputs that differ, the run, collectives, flows by workload
// and size, ports.
std::vector<Figure> comparison_of(const std::vector<RunSummary>& runs);

// Names of the workloads that are compared, in the order of the runs; an empty one: all flows, where they are
// not those of a single workload.
std::vector<std::string> workloads_to_compare(const std::vector<RunSummary>& runs);
// Names of the collectives, in the order of the runs.
std::vector<std::string> collectives_to_compare(const std::vector<RunSummary>& runs);
// nullptr: the run has none of that name.
const CollectiveSummary* collective_of(const RunSummary& run, const std::string& name);
const WorkloadSummary* workload_of(const RunSummary& run, const std::string& name);

// Takes away classes of sizes that cannot be compared: where one run has classes of exact sizes and another
// of ranges, or where sizes are too many, those that not all runs have.
void align_classes(std::vector<RunSummary>& runs);

// Labels that differ: what a sweep has set, as far as the runs differ in it, else the last part of the path.
void label_runs(std::vector<RunSummary>& runs);

// A table for people; whole lines.
std::string text_of(const std::vector<RunSummary>& runs, const std::vector<Figure>& figures);
nlohmann::ordered_json to_json(const std::vector<Figure>& figures);

}  // namespace verbatim::cli

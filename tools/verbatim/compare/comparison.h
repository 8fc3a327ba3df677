// Figures of several runs side by side: one list for the table, the page and the JSON document.
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
  std::vector<std::optional<std::uint64_t>> values;  // by run; nullopt: the run has no value
  std::vector<std::string> texts;                    // by run, with kText

  // The table's text: the value and, after the first run, its ratio to the first run, "x1.25".
  std::string cell(std::size_t run) const;
  // In thousandths, rounded; nullopt if a value is missing or the first is 0.
  std::optional<std::uint64_t> ratio_to_first(std::size_t run) const;
};

// Needs at least two runs. Sections in order: differing inputs, the run, collectives, flows by workload and
// size, ports.
std::vector<Figure> comparison_of(const std::vector<RunSummary>& runs);

// Names of the workloads to compare, in the order of the runs. An empty name means all flows, if they are not
// a single workload's.
std::vector<std::string> workloads_to_compare(const std::vector<RunSummary>& runs);
// Names of the collectives, in the order of the runs.
std::vector<std::string> collectives_to_compare(const std::vector<RunSummary>& runs);
// nullptr if the run has none of that name.
const CollectiveSummary* collective_of(const RunSummary& run, const std::string& name);
const WorkloadSummary* workload_of(const RunSummary& run, const std::string& name);

// Removes classes of sizes that cannot be compared: if one run has exact sizes and another ranges, or if
// there are too many sizes, all classes that some run lacks.
void align_classes(std::vector<RunSummary>& runs);

// Sets distinct labels: the settings of a sweep in which the runs differ, else the last part of the path.
void label_runs(std::vector<RunSummary>& runs);

// A table for people; whole lines.
std::string text_of(const std::vector<RunSummary>& runs, const std::vector<Figure>& figures);
nlohmann::ordered_json to_json(const std::vector<Figure>& figures);

}  // namespace verbatim::cli

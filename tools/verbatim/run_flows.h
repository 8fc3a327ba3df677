// Flows of a run: runs them if there are no programs, and reports their results.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/config/ideal_times.h"
#include "sim/config/spec.h"
#include "sim/core/engine.h"
#include "sim/ib/types.h"
#include "sim/supervisor/spec/options.h"
#include "sim/supervisor/spec/run_result.h"
#include "sim/workload/workload.h"
#include "tools/verbatim/flow_facts.h"

namespace verbatim::cli {

struct FlowFigures {
  Instant start{};         // kNever: not started
  Instant finish = kNever;  // kNever: not finished
  std::uint64_t acknowledged = 0;  // bytes
  ib::WcStatus status = ib::WcStatus::kSuccess;
  Duration ideal{0};  // see config::IdealTimes; 0: none
};
// In the order of the traffic, like `flows`.
std::vector<FlowFigures> figures_of(config::Simulation& simulation, const workload::Traffic& traffic,
                                    std::span<const workload::Flow* const> flows);

// Time from start to finish divided by the ideal time, in thousandths, rounded down, at least 1000, as
// measurements define it. nullopt if the flow is not finished, or has no ideal time.
std::optional<std::uint64_t> slowdown_of(const FlowFigures& figures);

// The traffic with the flows of endless loads at its end; their figures are appended to `figures`.
workload::Traffic with_arrivals(const workload::Traffic& traffic, config::Simulation& simulation,
                                std::span<const workload::PoissonLoad* const> loads, std::vector<FlowFigures>& figures);

// Runs the flows until all are done, no event is left, a limit is reached, or an interruption. If all are in
// the background, only the limit ends them.
supervisor::RunResult run_flows(Engine& engine, const workload::Workload& workload, const supervisor::Limits& limits);

// "flow 0, a to b: 1 GiB in 87.12 us, 98.6 Gbps, from 0 us to 87.12 us", without a newline. `index` is the
// flow's index in the scenario's traffic, `end` the end of the run.
std::string line_of(std::size_t index, const config::ScenarioSpec& scenario, const FlowFigures& figures, Instant end);
// Times from start to finish of flows of similar size. Rates are payload over that time, rounded down.
struct FlowTimes {
  std::uint64_t most_bytes = 0;  // upper limit of the class
  bool is_exact = false;         // all flows have this size
  std::size_t flows = 0, finished = 0;  // further members: over finished flows without an error; 0 if there are none
  std::int64_t mean_ps = 0, p50_ps = 0, p95_ps = 0, p99_ps = 0, longest_ps = 0;
  std::uint64_t p50_mbps = 0;    // median
  std::int64_t p50_slowdown = 0, p95_slowdown = 0, p99_slowdown = 0, most_slowdown = 0;  // in thousandths
};
// By size, ascending: one for each size if there are few sizes, else up to 1 KiB, up to 4 KiB and so on; then
// one of all flows, with most_bytes 0. Empty if there are no flows. Flows without end are left out.
std::vector<FlowTimes> flow_times(const workload::Traffic& traffic, std::span<const FlowFigures> figures);
// A table of whole lines.
std::string text_of(const std::vector<FlowTimes>& times);
nlohmann::ordered_json to_json(const std::vector<FlowTimes>& times);

// One entry of "workloads", or all entries of "flows".
struct WorkloadFigures {
  std::string name;  // empty: the entries of "flows"
  std::size_t flows = 0, endless = 0, finished = 0;
  std::uint64_t acknowledged = 0;  // bytes
  Instant start = kNever, last_finish{};
  std::vector<FlowTimes> times;
};
std::vector<WorkloadFigures> workloads_of(const config::ScenarioSpec& scenario, std::span<const FlowFigures> figures);
nlohmann::ordered_json to_json(const std::vector<WorkloadFigures>& workloads);

// The output of `verbatim run`: a line for each flow if there are few, else a table for each workload.
inline constexpr std::size_t kMostFlowLines = 20;
std::string text_of_flows(const config::ScenarioSpec& scenario, std::span<const FlowFigures> figures, Instant end);

// The reason for which the flow failed; empty if it did not.
std::string failure_of(std::size_t index, const config::ScenarioSpec& scenario, const FlowFigures& figures);

// Greatest number of flows listed in run.json.
inline constexpr std::size_t kMostFlowRows = 10'000;
// `facts`: null unless requested.
nlohmann::ordered_json flow_json(std::size_t index, const config::ScenarioSpec& scenario, const FlowFigures& figures,
                                 const FlowFacts::Facts* facts);
// Writes a header and a line for each flow as CSV.
void write_flow_table(std::FILE* file, const config::ScenarioSpec& scenario, std::span<const FlowFigures> figures,
                      std::span<const FlowFacts::Facts> facts);

}  // namespace verbatim::cli

// Flows of a run: what drives them where there are no programs, and how each of them went.
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

namespace verbatim::cli {

struct FlowFigures {
  Instant start{};         // kNever: nothing has started it
  Instant finish = kNever;  // kNever: it is not done
  std::uint64_t acknowledged = 0;  // bytes
  ib::WcStatus status = ib::WcStatus::kSuccess;
  Duration ideal{0};  // see config::IdealTimes; 0: the flow has none
};
// In the order of `flows`, which is that of the traffic.
std::vector<FlowFigures> figures_of(config::Simulation& simulation, const workload::Traffic& traffic,
                                    std::span<const workload::Flow* const> flows);

// The time from the start to the finish over the ideal time, in thousandths, rounded down; at least 1000, as measurements count
// it. None: the flow is not finished, or has no ideal time.
std::optional<std::uint64_t> slowdown_of(const FlowFigures& figures);

// Runs the flows until all are done, nothing can happen any more, a limit or an interruption.
supervisor::RunResult run_flows(Engine& engine, const workload::Workload& workload, const supervisor::Limits& limits);

// "flow 0, a to b: 1 GiB in 87.12 us, 98.6 Gbps, from 0 us to 87.12 us"; one line without its end. `index` is the flow's place
// in the scenario's traffic, `end` that of the run.
std::string line_of(std::size_t index, const config::ScenarioSpec& scenario, const FlowFigures& figures, Instant end);
// Times from the start to the finish of flows of about one size. Rates are payload over that time, rounded down.
struct FlowTimes {
  std::uint64_t most_bytes = 0;  // of the largest that may be in it
  bool is_exact = false;         // all have so many
  std::size_t flows = 0, finished = 0;  // of the finished ones, without an error, is the rest; 0 if there are none
  std::int64_t p50_ps = 0, p95_ps = 0, p99_ps = 0, longest_ps = 0;
  std::uint64_t p50_mbps = 0;    // half of them are faster
  std::int64_t p50_slowdown = 0, p95_slowdown = 0, p99_slowdown = 0, most_slowdown = 0;  // in thousandths
};
// By size, ascending: one of each size if there are few sizes, else up to 1 KiB, up to 4 KiB and so on. Behind them one of all
// flows, with most_bytes 0. Empty: there are no flows. Flows without end are left out.
std::vector<FlowTimes> flow_times(const workload::Traffic& traffic, std::span<const FlowFigures> figures);
// A table for people; whole lines.
std::string text_of(const std::vector<FlowTimes>& times);
nlohmann::ordered_json to_json(const std::vector<FlowTimes>& times);

// One entry of "workloads", or all of "flows".
struct WorkloadFigures {
  std::string name;  // empty: the entries of "flows"
  std::size_t flows = 0, endless = 0, finished = 0;
  std::uint64_t acknowledged = 0;  // bytes
  Instant start = kNever, last_finish{};
  std::vector<FlowTimes> times;
};
std::vector<WorkloadFigures> workloads_of(const config::ScenarioSpec& scenario, std::span<const FlowFigures> figures);
nlohmann::ordered_json to_json(const std::vector<WorkloadFigures>& workloads);

// As `verbatim run` prints them: a line for each of a few flows, or a table for each workload.
inline constexpr std::size_t kMostFlowLines = 20;
std::string text_of_flows(const config::ScenarioSpec& scenario, std::span<const FlowFigures> figures, Instant end);

// Why it is not as it should be; empty: it is.
std::string failure_of(std::size_t index, const config::ScenarioSpec& scenario, const FlowFigures& figures);

// run.json has a row of each of so many flows at most.
inline constexpr std::size_t kMostFlowRows = 10'000;
nlohmann::ordered_json flow_json(std::size_t index, const config::ScenarioSpec& scenario, const FlowFigures& figures);
// A line of each flow as CSV, under a line of titles.
void write_flow_table(std::FILE* file, const config::ScenarioSpec& scenario, std::span<const FlowFigures> figures);

}  // namespace verbatim::cli

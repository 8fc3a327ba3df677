// Flows of a run: what drives them where there are no programs, and how each of them went.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/config/spec.h"
#include "sim/core/engine.h"
#include "sim/ib/types.h"
#include "sim/supervisor/spec/options.h"
#include "sim/supervisor/spec/run_result.h"
#include "sim/workload/workload.h"

namespace verbatim::cli {

struct FlowFigures {
  Instant start{};
  Instant finish = kNever;  // kNever: it is not done
  std::uint64_t acknowledged = 0;  // bytes
  ib::WcStatus status = ib::WcStatus::kSuccess;
};
std::vector<FlowFigures> figures_of(const workload::Workload& workload);

// Runs the flows until all are done, nothing can happen any more, a limit or an interruption.
supervisor::RunResult run_flows(Engine& engine, const workload::Workload& workload, const supervisor::Limits& limits);

// "flow 0, a to b: 1 GiB in 87.12 us, 98.6 Gbps, from 0 us to 87.12 us"; one line without its end.
std::string line_of(std::size_t index, const config::FlowSpec& spec, const FlowFigures& figures);
// Why it is not as it should be; empty: it is.
std::string failure_of(std::size_t index, const config::FlowSpec& spec, const FlowFigures& figures);
nlohmann::ordered_json to_json(const config::FlowSpec& spec, const FlowFigures& figures);

}  // namespace verbatim::cli

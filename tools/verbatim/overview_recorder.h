// Makes the overview of a run (run_overview.h) while it runs: what ports send and what waits in them, in
// parts of the time. Parts become twice as long whenever the run outgrows them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/config/graphs.h"
#include "sim/core/trace.h"
#include "sim/workload/graph_run.h"
#include "tools/verbatim/run_flows.h"
#include "tools/verbatim/run_overview.h"

namespace verbatim::cli {

class OverviewRecorder final : public TraceSink, public FactObserver {
 public:
  // Both are needed by the constructor alone.
  OverviewRecorder(const ComponentTable& components, const config::TopologySpec& topology);

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  void on_output_queue(ComponentId port, std::uint32_t lane, std::uint64_t bytes, Instant now) override;
  void on_command(ComponentId, std::uint32_t, std::span<const std::byte>, Instant) override {}
  void on_level(ComponentId, Queue, std::uint32_t, std::uint32_t, Instant) override {}
  void on_credits(ComponentId, std::uint32_t, std::uint32_t, std::uint32_t, Instant) override {}
  void on_placement(const TraceRecord&, std::uint32_t, bool) override {}

  // Before finish().
  void add_flows(const config::ScenarioSpec& scenario, std::span<const FlowFigures> figures);
  // `graphs` and `runs` in the same order.
  void add_graphs(const std::vector<config::DrawnGraph>& graphs,
                  const std::vector<const workload::GraphRun*>& runs);
  // The run has ended. `detail_until_ps` as in RunOverview; `watches_all`: of all components and times.
  const RunOverview& finish(Instant end, std::int64_t detail_until_ps, bool watches_all);

 private:
  static constexpr std::uint32_t kNoPort = ~0u;
  static constexpr std::size_t kLanes = 16;

  std::size_t part_of(std::int64_t time_ps);
  void halve_resolution();
  // The level of the port goes on until that part.
  void reach(std::size_t port, std::size_t part);
  std::uint32_t level_of(std::size_t port) const;

  RunOverview overview_;
  bool has_begun_ = false;
  std::vector<std::uint32_t> port_of_;    // by component
  std::vector<std::uint32_t> levels_;     // bytes, by port and lane
  std::vector<std::uint32_t> last_part_;  // by port: the last part that has its level
};

}  // namespace verbatim::cli

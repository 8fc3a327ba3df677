// Makes the overview of a run (run_overview.h) during the run: sent bytes and queue depths of ports, by parts
// of the time. The length of parts doubles when the run becomes too long for them.
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
  // The arguments are used only in the constructor.
  OverviewRecorder(const ComponentTable& components, const config::TopologySpec& topology);

  void on_record(const TraceRecord& record, std::span<const std::byte> bytes) override;
  void on_output_queue(ComponentId port, std::uint32_t lane, std::uint64_t bytes, Instant now) override;
  void on_command(ComponentId, std::uint32_t, std::span<const std::byte>, Instant) override {}
  void on_level(ComponentId, Queue, std::uint32_t, std::uint32_t, Instant) override {}
  void on_credits(ComponentId, std::uint32_t, std::uint32_t, std::uint32_t, Instant) override {}
  void on_placement(const TraceRecord&, std::uint32_t, bool) override {}

  // Call before finish().
  void add_flows(const config::ScenarioSpec& scenario, std::span<const FlowFigures> figures);
  // `graphs` and `runs` have the same order.
  void add_graphs(const std::vector<config::DrawnGraph>& graphs,
                  const std::vector<const workload::GraphRun*>& runs);
  // Ends the run. `detail_until_ps` as in RunOverview; `watches_all`: all components and times were recorded.
  const RunOverview& finish(Instant end, std::int64_t detail_until_ps, bool watches_all);

 private:
  static constexpr std::uint32_t kNoPort = ~0u;
  static constexpr std::size_t kLanes = 16;

  std::size_t part_of(std::int64_t time_ps);
  void halve_resolution();
  // Extends the port's level up to that part.
  void reach(std::size_t port, std::size_t part);
  std::uint32_t level_of(std::size_t port) const;

  RunOverview overview_;
  bool has_begun_ = false;
  unsigned part_shift_ = 0;  // length of a part: 2^part_shift_ ps
  std::vector<std::uint32_t> port_of_;    // by component
  std::vector<std::uint32_t> levels_;     // bytes, by port and lane
  std::vector<std::uint32_t> last_part_;  // by port: the last part with its current level
};

}  // namespace verbatim::cli

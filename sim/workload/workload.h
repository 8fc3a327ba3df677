// All traffic of a run without programs.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "sim/workload/flow.h"
#include "sim/workload/graph_run.h"
#include "sim/workload/poisson_load.h"

namespace verbatim::workload {

class Workload {
 public:
  // To be called before the first event; see Flow. Requests are posted at `from`.
  Flow& add(Engine& engine, hca::Endpoint& from, hca::Endpoint& to, const FlowPaths& paths, const FlowParams& params) {
    return flows_.emplace_back(engine, from, to, paths, params, account_);
  }
  // To be called before the flows are added that fire it or that it starts.
  Trigger& add_trigger(const TriggerPlan& plan) { return triggers_.emplace_back(plan); }
  // In the order in which they were added.
  const std::deque<Flow>& flows() const { return flows_; }
  // `graph` must be sealed; `places`: adapters by rank; see GraphRun.
  GraphRun& add_graph(Engine& engine, std::shared_ptr<const MessageGraph> graph, const std::vector<hca::Endpoint*>& places,
                      const GraphRun::Paths& paths, const GraphRunParams& params) {
    const MessageGraph& kept = *graphs_.emplace_back(std::move(graph));
    return runs_.emplace_back(engine, kept, places, paths, params, account_.unfinished);
  }
  // See PoissonLoad; the run does not wait for it.
  const PoissonLoad& add_load(Engine& engine, const LoadPlan& plan, const FlowKind& kind, std::vector<hca::Endpoint*> places,
                              PoissonLoad::Paths paths, const std::vector<Duration>& phases) {
    return loads_.emplace_back(engine, plan, kind, std::move(places), std::move(paths), phases);
  }
  const std::deque<PoissonLoad>& loads() const { return loads_; }
  const std::deque<GraphRun>& graph_runs() const { return runs_; }
  // To be called before the first event; the listener must outlive the run.
  void set_flow_listener(FlowListener& listener) { account_.listener = &listener; }
  bool empty() const { return flows_.empty() && runs_.empty() && loads_.empty(); }
  bool is_done() const { return account_.unfinished == 0; }

 private:
  FlowAccount account_;           // flows and graph runs refer to it
  std::deque<Trigger> triggers_;  // flows refer to them
  std::deque<Flow> flows_;        // adapters and timers refer to them
  std::vector<std::shared_ptr<const MessageGraph>> graphs_;
  std::deque<PoissonLoad> loads_;  // adapters and timers refer to them
  std::deque<GraphRun> runs_;     // adapters and timers refer to them
};

}  // namespace verbatim::workload

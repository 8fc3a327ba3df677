// Workloads whose messages wait for each other (WorkloadSpec::is_graph()) as message graphs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/config/spec.h"
#include "sim/workload/training.h"

namespace verbatim::config {

// Keys that are given and mean something for graphs alone.
std::vector<const char*> graph_keys(const WorkloadSpec& spec);
// The same for patterns of flows, but for keys that a file of flows has, too.
std::vector<const char*> flow_pattern_keys(const WorkloadSpec& spec);

// The pattern and algorithm of a resolved graph that is no file.
workload::Pattern pattern_of(const WorkloadSpec& spec);
workload::Algorithm algorithm_of(const WorkloadSpec& spec);

// Operations of one repetition, about, and queue pairs of a member at most, of a pattern among so many.
double count_operations(const WorkloadSpec& spec, std::uint32_t members);
std::uint32_t count_queue_pairs(const WorkloadSpec& spec, std::uint32_t members);

struct DrawnGraph {
  const WorkloadSpec* spec = nullptr;
  std::shared_ptr<const workload::MessageGraph> graph;
  std::vector<workload::Collective> collectives;  // one for each repetition; of a file one of everything
  std::vector<std::uint32_t> adapters;            // by rank
};
// Those of a resolved scenario, in the order of their names: nothing depends on that of the file.
// Computations and routes of tokens are drawn from the scenario's seed, or the workload's own. The scenario
// outlives them.
std::vector<DrawnGraph> draw_graphs(const ScenarioSpec& scenario);

// The rate of each adapter's cable, in bits per second; 0: it has none.
std::vector<std::uint64_t> cable_rates(const TopologySpec& topology);
// The least time of operations [first, past): the longest that a host sends or receives its bytes at its
// cable's rate, headers left out, or computes.
Duration ideal_time(const std::vector<std::uint64_t>& rates, const DrawnGraph& graph, workload::OperationId first,
                    workload::OperationId past);

}  // namespace verbatim::config

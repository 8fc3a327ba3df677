// Turns workloads whose messages wait for each other (WorkloadSpec::is_graph()) into message graphs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/config/spec.h"
#include "sim/workload/training.h"

namespace verbatim::config {

// The given keys that apply to graphs only.
std::vector<const char*> graph_keys(const WorkloadSpec& spec);
// The given keys that apply to patterns of flows only, except those that a file of flows has as well.
std::vector<const char*> flow_pattern_keys(const WorkloadSpec& spec);

// The pattern and algorithm of a resolved graph that is not read from a file.
workload::Pattern pattern_of(const WorkloadSpec& spec);
workload::Algorithm algorithm_of(const WorkloadSpec& spec);

// Estimated number of operations of one repetition, and an upper bound of the queue pairs of a member, for
// `members` members.
double count_operations(const WorkloadSpec& spec, std::uint32_t members);
std::uint32_t count_queue_pairs(const WorkloadSpec& spec, std::uint32_t members);

struct DrawnGraph {
  const WorkloadSpec* spec = nullptr;
  std::shared_ptr<const workload::MessageGraph> graph;
  std::vector<workload::Collective> collectives;  // one for each repetition; a file is one
  std::vector<std::uint32_t> adapters;            // by rank
};
// Draws the graphs of a resolved scenario in the order of their names, so their order in the file changes
// nothing. Computations and routes of tokens are drawn from the scenario's seed, or from the workload's own.
// The scenario must outlive the graphs.
std::vector<DrawnGraph> draw_graphs(const ScenarioSpec& scenario);

// Rate of each adapter's cable, in bits per second; 0: it has no cable.
std::vector<std::uint64_t> cable_rates(const TopologySpec& topology);
// Lower bound of the time of operations [first, past): the longest time that any host needs to send its
// bytes, to receive them, or to compute, at its cable's rate without headers.
Duration ideal_time(const std::vector<std::uint64_t>& rates, const DrawnGraph& graph, workload::OperationId first,
                    workload::OperationId past);

}  // namespace verbatim::config

// Collectives, training patterns and GOAL files of a run: their times, and operations that waited for ever.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/graphs.h"
#include "sim/workload/graph_run.h"

namespace verbatim::cli {

struct CollectiveFigures {
  Instant start = kNever,
          finish = kNever;                       // of first and last operation; kNever: not started, not finished
  Duration ideal{0};                             // see config::ideal_time()
  std::optional<workload::Bandwidth> bandwidth;  // of finished repetitions
};

// One workload.
struct GraphFigures {
  std::string name, what;          // "all-reduce by ring"
  std::string pattern, algorithm;  // "goal" and "" for a file
  std::size_t hosts = 0;
  std::uint64_t bytes = 0;  // of a collective: as nccl-tests counts them; of a file: of all messages
  std::uint64_t operations = 0, ended = 0, messages = 0;  // messages: matched ones
  std::uint64_t unexpected = 0;                           // messages without a matching receive
  Instant start{}, finish{};                              // finish: of the last operation that ended
  bool is_done = false, is_complete = false;
  std::string failure;                  // empty: no transport error
  std::vector<std::string> waiting;     // of an incomplete graph: which operations wait, and for whom
  std::vector<CollectiveFigures> runs;  // by repetition
};
// `graphs` and `runs` have the same order.
std::vector<GraphFigures> figures_of(const config::TopologySpec& topology, const std::vector<config::DrawnGraph>& graphs,
                                     const std::vector<const workload::GraphRun*>& runs);

// The output of `verbatim run`: a line for each workload.
std::string text_of(const std::vector<GraphFigures>& graphs);
nlohmann::ordered_json to_json(const std::vector<GraphFigures>& graphs);

// Reasons for which it failed, in sentences; empty if it did not, or if the run was ended early.
std::vector<std::string> failures_of(const GraphFigures& graph);

}  // namespace verbatim::cli

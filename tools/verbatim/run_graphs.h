// Collectives, patterns of training and GOAL files of a run: how long they took, and what waited for ever.
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
          finish = kNever;                       // of its first and last operation; kNever: it has not started, or not ended
  Duration ideal{0};                             // see config::ideal_time()
  std::optional<workload::Bandwidth> bandwidth;  // of those that have ended
};

// One workload.
struct GraphFigures {
  std::string name, what;          // "all-reduce by ring"
  std::string pattern, algorithm;  // of a file "goal" and nothing
  std::size_t hosts = 0;
  std::uint64_t bytes = 0;  // of a collective, as nccl-tests counts them; of a file: of all messages
  std::uint64_t operations = 0, ended = 0, messages = 0;  // messages: matched
  std::uint64_t unexpected = 0;                           // messages that no receive has taken
  Instant start{}, finish{};                              // finish: of the last that has ended
  bool is_done = false, is_complete = false;
  std::string failure;                  // empty: no transport error
  std::vector<std::string> waiting;     // what waits for whom, where it is not complete
  std::vector<CollectiveFigures> runs;  // by repetition
};
// `graphs` and `runs` in the same order.
std::vector<GraphFigures> figures_of(const config::TopologySpec& topology, const std::vector<config::DrawnGraph>& graphs,
                                     const std::vector<const workload::GraphRun*>& runs);

// As `verbatim run` prints it: a line for each workload.
std::string text_of(const std::vector<GraphFigures>& graphs);
nlohmann::ordered_json to_json(const std::vector<GraphFigures>& graphs);

// Why it is not as it should be, in sentences; empty: it is, or the run was ended before.
std::vector<std::string> failures_of(const GraphFigures& graph);

}  // namespace verbatim::cli

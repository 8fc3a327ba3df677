// Execution traces of training in Chakra's model, as a message graph: for each rank, nodes that compute,
// send, receive or take part in a collective, and their dependencies. sim/config reads the files.
//
// A node starts when its predecessors have ended. Computations of a rank are sequential on its processor and
// on its accelerator. Sends and receives match by ranks and tag, in order. The collectives of a group match
// by their order in the traces of its members, which are the ranks whose traces name it; each uses the first
// algorithm of its pattern.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/time.h"
#include "sim/workload/collectives.h"
#include "sim/workload/message_graph.h"

namespace verbatim::workload {

struct TraceNode {
  enum class Kind : std::uint8_t { kCompute, kSend, kReceive, kCollective };

  std::uint64_t id = 0;
  Kind kind = Kind::kCompute;
  bool is_on_processor = false;  // computation; otherwise on the accelerator
  Pattern pattern = Pattern::kAllReduce;
  Duration time{0};         // computation
  std::uint64_t bytes = 0;  // of a message; of a collective as defined in CollectiveParams
  std::uint32_t peer = 0;   // rank
  std::uint64_t tag = 0;
  std::string group;                  // collective
  std::vector<std::uint64_t> before;  // ids
};
// Nodes in the order of the file.
using RankTrace = std::vector<TraceNode>;

struct TraceFinding {
  std::uint32_t rank = 0;
  std::string text, hint;  // the text contains the node
  friend bool operator==(const TraceFinding&, const TraceFinding&) = default;
};

struct TraceLimits {
  static constexpr std::uint64_t kMessageBytes = std::uint64_t{1} << 40;
  static constexpr std::uint64_t kComputeUs = 1'000'000'000;  // per computation
  static constexpr double kAllComputeUs = 8e12;
  static constexpr double kOperations = 30e6;
  static constexpr std::size_t kFindings = 20;  // reading stops at this number
};

// A graph of ranks.size() ranks, sealed, without cycles, with at least one operation. Ranks may share a
// trace. Null: there are findings.
std::shared_ptr<const MessageGraph> graph_of(const std::vector<std::shared_ptr<const RankTrace>>& ranks,
                                             std::vector<TraceFinding>& findings);

}  // namespace verbatim::workload

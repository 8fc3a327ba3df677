// Reads GOAL, the text form of LogGOPSim and ATLAHS, into a message graph:
//
//   num_ranks 2
//   rank 0 {
//     a: calc 1000                  nanoseconds; also `calc 1000 cpu 1`
//     b: send 10b to 1 tag 5        without `tag`: 0; `cpu` and `nic` may follow
//     b requires a                  b starts after a has ended; `irequires`: after it has started
//   }
//   rank 1 {
//     recv 10b from 0 tag 5         -1: any rank, any tag
//   }
//
// Comments are // and /* */. A statement ends with its line, with ";" or with the closing brace. Labels are
// those of a block, and may be used before their line. `cpu` counts for computations alone: messages take no
// processor time here. `nic` changes nothing: an adapter has one port.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload/line_finding.h"
#include "sim/workload/message_graph.h"

namespace verbatim::workload {

struct GoalLimits {
  static constexpr std::uint64_t kRanks = 1 << 20;
  static constexpr std::uint64_t kMessageBytes = std::uint64_t{1} << 40;
  static constexpr std::uint64_t kCalcNs = 1'000'000'000'000;  // of one
  static constexpr std::uint64_t kAllCalcNs = 8'000'000'000'000'000;
  static constexpr std::size_t kFindings = 20;  // reading stops after as many
};

using GoalFinding = LineFinding;

struct GoalProgram {
  MessageGraph graph;                // sealed, without a circle; it has an operation
  std::vector<std::uint32_t> lines;  // by operation
};

// None: there are findings.
std::optional<GoalProgram> read_goal(std::string_view text, std::vector<GoalFinding>& findings);

}  // namespace verbatim::workload

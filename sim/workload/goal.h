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
// local to a block and may be used before their definition. `cpu` only affects computations: messages take no
// processor time in this model. `nic` has no effect: an adapter has one port.
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
  static constexpr std::uint64_t kCalcNs = 1'000'000'000'000;  // per computation
  static constexpr std::uint64_t kAllCalcNs = 8'000'000'000'000'000;
  static constexpr std::size_t kFindings = 20;  // reading stops at this number
};

using GoalFinding = LineFinding;

struct GoalProgram {
  MessageGraph graph;                // sealed, without cycles, not empty
  std::vector<std::uint32_t> lines;  // by operation
};

// nullopt: there are findings.
std::optional<GoalProgram> read_goal(std::string_view text, std::vector<GoalFinding>& findings);

}  // namespace verbatim::workload

// GOAL text: it is refused with findings, or it is a graph without a circle.
#include <cstdint>
#include <string_view>

#include "sim/core/check.h"
#include "sim/workload/goal.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace verbatim::workload;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<GoalFinding> findings;
  const std::optional<GoalProgram> program = read_goal(text, findings);
  CHECK(program.has_value() == findings.empty() && findings.size() <= GoalLimits::kFindings + 2);
  std::uint32_t lines = 1;
  for (const char c : text) lines += c == '\n' ? 1 : 0;
  for (const GoalFinding& finding : findings) {
    CHECK(!finding.text.empty() && !finding.hint.empty() && finding.line >= 1 && finding.line <= lines);
  }
  if (!program) return 0;
  const MessageGraph& graph = program->graph;
  CHECK(graph.size() > 0 && program->lines.size() == graph.size() && !graph.find_cycle());
  for (OperationId id = 0; id < graph.size(); ++id) {
    CHECK(graph[id].rank < graph.ranks() && program->lines[id] >= 1 && program->lines[id] <= lines &&
          !text_of(graph[id]).empty());
    for (const MessageGraph::Successor successor : graph.successors(id)) CHECK(graph[successor.id].rank == graph[id].rank);
  }
  return 0;
}

// JSON as a Chakra execution trace of three ranks: it is refused with findings, or it is a graph without a
// circle.
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/config/chakra.h"
#include "sim/core/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace verbatim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  config::Diagnostics diagnostics;
  const auto trace = config::read_execution_trace(text, "x.json", diagnostics);
  CHECK((trace == nullptr) == !diagnostics.empty());
  for (const config::Finding& finding : diagnostics.findings())
    CHECK(!finding.text.empty() && finding.file == "x.json");
  if (trace == nullptr) return 0;
  std::vector<workload::TraceFinding> findings;
  const auto graph = workload::graph_of({trace, trace, trace}, findings);
  CHECK((graph == nullptr) == !findings.empty() && findings.size() <= workload::TraceLimits::kFindings);
  for (const workload::TraceFinding& finding : findings)
    CHECK(!finding.text.empty() && !finding.hint.empty() && finding.rank < 3);
  if (graph == nullptr) return 0;
  CHECK(graph->ranks() == 3 && graph->size() >= 3 && graph->is_sealed() && !graph->find_cycle());
  for (workload::OperationId id = 0; id < graph->size(); ++id) {
    CHECK((*graph)[id].rank < 3);
    for (const workload::MessageGraph::Successor successor : graph->successors(id))
      CHECK((*graph)[successor.id].rank == (*graph)[id].rank);
  }
  return 0;
}

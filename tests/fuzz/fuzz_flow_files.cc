// Files of flows: refused with findings, or flows between existing nodes.
#include <cstdint>
#include <string_view>

#include "sim/core/check.h"
#include "sim/workload/flow_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace verbatim::workload;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  flow_format_of(text);
  for (const auto read : {read_connection_matrix, read_flow_list}) {
    std::vector<LineFinding> findings;
    const std::optional<FlowFile> file = read(text, findings);
    CHECK(file.has_value() == findings.empty() && findings.size() <= FlowFile::kMostFindings + 8);
    for (const LineFinding& finding : findings) CHECK(!finding.text.empty() && !finding.hint.empty() && finding.line >= 1);
    if (!file) continue;
    CHECK(!file->flows.empty());
    for (const FlowPlan& flow : file->flows) {
      CHECK(flow.from != flow.to && flow.from < file->nodes && flow.to < file->nodes && flow.kind < file->kinds.size());
      for (const std::uint32_t trigger : {flow.trigger, flow.on_sent, flow.on_received})
        CHECK(trigger == FlowPlan::kNone || trigger < file->triggers.size());
      CHECK(flow.start >= verbatim::Duration(0));
    }
  }
  return 0;
}

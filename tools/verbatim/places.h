// Where in the programs it was that something in a trace began.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/explore/decision.h"
#include "sim/observe/trace_line.h"
#include "tools/verbatim/run_report.h"

namespace verbatim::cli {

class Places {
 public:
  Places() = default;
  explicit Places(std::vector<RunReport::Place> places) : places_(std::move(places)) {}

  // Of the call that a thread came late to, or late out of: "app.c:88, from app.c:120"; "" when that is not known, and for what
  // adapters decide.
  std::string of(const explore::Decision& decision) const;
  // Until when the thread is late, ps; nothing where that is not known.
  std::optional<std::int64_t> end_of(const explore::Decision& decision) const;
  // Of the request that a completion or a packet's bytes are of, or of the asking for an event: "posted at app.c:88"; "" when that is
  // not known. Several where each may be the one.
  std::string of(const observe::TraceLine& line) const;

 private:
  const RunReport::Place* find(const explore::Decision& decision) const;
  std::vector<RunReport::Place> places_;
};

}  // namespace verbatim::cli

// Source locations in programs that caused events of a trace.
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

  // Location of the call that a thread entered or left late: "app.c:88, from app.c:120". "" if unknown, and
  // for decisions of adapters.
  std::string of(const explore::Decision& decision) const;
  // End of the thread's delay, in ps; nullopt if unknown.
  std::optional<std::int64_t> end_of(const explore::Decision& decision) const;
  // Location of the request that belongs to a completion or packet, or of the call that armed a CQ: "posted
  // at app.c:88"; several if it is ambiguous, "" if unknown.
  std::string of(const observe::TraceLine& line) const;

 private:
  const RunReport::Place* find(const explore::Decision& decision) const;
  std::vector<RunReport::Place> places_;
};

}  // namespace verbatim::cli

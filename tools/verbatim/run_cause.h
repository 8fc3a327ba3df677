// The cause of a run's failure, and what it lost, as its last lines and run.json show it.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "sim/observe/failure_causes.h"
#include "sim/observe/congestion.h"
#include "sim/observe/losses.h"
#include "sim/supervisor/spec/run_result.h"

namespace verbatim::cli {

struct RunCause {
  std::string text;        // "QP 72 of client: …"; empty: no cause is known
  std::string what_to_do;  // may be empty
  std::string subject;     // what `verbatim explain` knows more about; may be empty
  bool is_certain = true;  // false: only a check has found something, and that need not be the cause
};

// Of a run that hung: packets that are stuck in the fabric, what the waits show, then the first failure. Of one that ended: the
// first failure. What a check has found is named only where nothing else is known, or nothing but that a peer has gone.
RunCause cause_of(const supervisor::RunResult& result, std::span<const observe::Failure> failures);

// null without a cause.
nlohmann::ordered_json to_json(const RunCause& cause);

// The lines "cause: …" (or "possible cause: …") and "what to do: …"; empty without a cause.
std::vector<std::string> lines_of(const RunCause& cause);

// One line; empty: nothing was lost.
std::string losses_text(const observe::Losses& losses);
// The same of pauses, marks and rates, when there are any.
std::string congestion_text(const observe::Congestion& congestion);

}  // namespace verbatim::cli

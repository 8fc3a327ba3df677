// The cause of a run's failure, as its last lines and run.json tell it.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "sim/observe/failure_causes.h"
#include "sim/supervisor/spec/run_result.h"

namespace verbatim::cli {

struct RunCause {
  std::string text;        // "QP 72 of client: …"; empty: no cause is known
  std::string what_to_do;  // may be empty
  std::string subject;     // what `verbatim explain` knows more about; may be empty
  bool is_certain = true;  // false: only a check has found something, and that need not be the cause
};

// Of a run that hung: packets that are stuck in the fabric, what the waits show, then the first failure. Of one that ended: the first
// failure. What a check has found is named only where nothing else is known.
RunCause cause_of(const supervisor::RunResult& result, std::span<const observe::Failure> failures);

// null without a cause.
nlohmann::ordered_json to_json(const RunCause& cause);

// The lines "cause: …" (or "possible cause: …") and "what to do: …"; empty without a cause.
std::vector<std::string> lines_of(const RunCause& cause);

}  // namespace verbatim::cli

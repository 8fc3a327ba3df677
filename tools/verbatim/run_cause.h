// The cause of a failed run, and its losses, for its last lines and run.json.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
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
  std::string subject;     // a topic of `verbatim explain`; may be empty
  // false: only a check found something, or an object in use could not be destroyed, which need not be the cause
  bool is_certain = true;
};

// For a hang: packets stuck in the fabric; then a wait that is wrong by itself; then the first failed work
// request, if the waits can follow from it; then the other waits; then the first failure. For a run that
// ended: the first failure. A check's finding is used only if nothing else is known, or only that a peer has
// exited. `first_end_ps`: the first unexpected end of a program, if any; later failures are its consequences.
// `rnr_naks`: those of the whole run.
RunCause cause_of(const supervisor::RunResult& result, std::span<const observe::Failure> all,
                  std::optional<std::int64_t> first_end_ps, std::uint64_t rnr_naks);

// null if no cause is known.
nlohmann::ordered_json to_json(const RunCause& cause);

// The lines "cause: …" (or "possible cause: …") and "what to do: …"; empty if no cause is known.
std::vector<std::string> lines_of(const RunCause& cause);

// One line; empty if nothing was lost.
std::string losses_text(const observe::Losses& losses, const std::vector<std::string>& failed_links);
// One line about pauses, marks and rates; empty if there were none.
std::string congestion_text(const observe::Congestion& congestion);

}  // namespace verbatim::cli

// Explains a failure: the decisions of the run, the effect of each, the rule that allows it, and an excerpt
// of the trace.
#pragma once

#include <string>

#include "tools/verbatim/schedule_runs.h"
#include "tools/verbatim/shrink.h"

namespace verbatim::cli {

// Several indented lines. Runs the failure again, and once without each decision. `found` is the run in which
// the failure was found.
std::string failure_text(ScheduleRuns& runs, const Shrunk& shrunk, const RunReport& found);

}  // namespace verbatim::cli

// Why a run failed, for people: which decisions it took, what each has done, which rule allows it, and what the trace shows.
#pragma once

#include <string>

#include "tools/verbatim/schedule_runs.h"
#include "tools/verbatim/shrink.h"

namespace verbatim::cli {

// Several lines, each indented. It runs the failure again, and once without each decision. `found`: the run in which the
// failure was found.
std::string failure_text(ScheduleRuns& runs, const Shrunk& shrunk, const RunReport& found);

}  // namespace verbatim::cli

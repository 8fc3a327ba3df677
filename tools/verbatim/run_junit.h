// The result of a run as JUnit XML: a test case for each program of the scenario, and one for the run as a whole.
#pragma once

#include <string>

#include "tools/verbatim/report.h"
#include "tools/verbatim/run_plan.h"

namespace verbatim::cli {

std::string junit_of_run(const RunPlan& plan, const Verdict& verdict);

}  // namespace verbatim::cli

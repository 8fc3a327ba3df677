// `verbatim workload FILE`: the demands of a scenario's workloads on its fabric, before any run.
#pragma once

#include <string>

#include "tools/verbatim/cli.h"

namespace verbatim::cli {

struct WorkloadOptions {
  std::string file;  // a scenario
  AnswerStyle style;
};

int describe_workloads(const WorkloadOptions& options);

}  // namespace verbatim::cli

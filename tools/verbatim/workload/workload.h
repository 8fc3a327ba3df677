// `verbatim workload FILE`: what the workloads of a scenario ask of its fabric, before any run.
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

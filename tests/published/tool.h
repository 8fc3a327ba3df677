// The command line of a tool that compares the model to published values: selection of targets and values, the table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tests/published/line.h"
#include "tests/published/target.h"

namespace verbatim::published {

struct Tool {
  std::string_view name;
  std::string about;  // printed by --help
  std::string folder;  // folder of the files with published values
  Columns columns;
  std::span<const Target> targets;
};

// Returns the exit code: 0, every deciding value is within its bound; 1, some are not; 2, usage, or a file is malformed.
int run_tool(const Tool& tool, int argc, char** argv);

}  // namespace verbatim::published

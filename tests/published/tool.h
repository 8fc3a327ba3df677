// The command line of a tool that compares the model with published values: which targets, which of their values, the table.
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
  std::string folder;  // of the files with the published values
  Columns columns;
  std::span<const Target> targets;
};

// Exit code: 0, every value that is a bar is within its bound; 1, some are not; 2, usage, or a file is damaged.
int run_tool(const Tool& tool, int argc, char** argv);

}  // namespace verbatim::published

// `verbatim import`: a topology from files of other tools.
#pragma once

#include <string>
#include <vector>

#include "tools/verbatim/cli.h"

namespace verbatim::cli {

struct ImportOptions {
  std::vector<std::string> sources;  // files and folders
  std::string out;
  std::string format;  // empty: recognised by content
  std::string lengths;  // a file; empty: none
  std::string length = "2 m", rate, hca, switch_profile, cpu = "cpu";
  AnswerStyle style;
};

int import_fabric(const ImportOptions& options);
// Names for --format.
std::vector<std::string> import_formats();

}  // namespace verbatim::cli

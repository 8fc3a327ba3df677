// Results in the form that continuous integration reads.
#pragma once

#include <string>
#include <vector>

namespace verbatim::cli {

struct JunitCase {
  std::string name;
  std::string failure;  // empty: it has passed
};

std::string junit_text(const std::string& suite, const std::vector<JunitCase>& cases);

}  // namespace verbatim::cli

// Results as JUnit XML, which continuous integration services read.
#pragma once

#include <string>
#include <vector>

namespace verbatim::cli {

struct JunitCase {
  std::string name;
  std::string failure;  // lines; empty: passed
};

std::string junit_text(const std::string& suite, const std::vector<JunitCase>& cases);

}  // namespace verbatim::cli

// Scenarios with flows on two hosts.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim::run_tests {

// A scenario on two hosts with these keys.
class Scenario {
 public:
  explicit Scenario(const std::string& keys, const std::string& topology = support::topology("two_hosts"))
      : path_(folder_.path() + "/s.json") {
    std::ofstream(path_) << R"({"topology": ")" << topology << R"(", )" << keys << "}";
  }
  support::RunReport run(const std::vector<std::string>& options = {}) const {
    return support::run({.scenario = path_, .options = options});
  }

 private:
  support::TemporaryFolder folder_;
  std::string path_;
};

inline const std::string kFlow = R"({"from": "server", "to": "client", "bytes": "10 MiB"})";

}  // namespace verbatim::run_tests

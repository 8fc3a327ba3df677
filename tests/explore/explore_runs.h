// Searches of `verbatim explore` as processes, for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/config/helpers.h"

namespace verbatim::cli {

inline std::string content(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<std::string> pair_of(const std::string& program, const std::string& variant) {
  const std::string path = "'" + std::string(VERBATIM_LITMUS) + "/" + program + "' " + variant;
  return {"--topology", kTopology, "server=" + path, "client=" + path + " server"};
}

inline Finished explore(const std::string& out, std::vector<std::string> options, const std::vector<std::string>& what) {
  // Without a limit of shrinking time, because the result must not depend on the machine's load.
  const bool has_time = std::ranges::find(options, "--shrink-time") != options.end();
  if (!has_time) options.insert(options.begin(), {"--shrink-time", "300s"});
  options.insert(options.begin(), {"explore", "--out", out});
  options.insert(options.end(), what.begin(), what.end());
  return verbatim(options);
}

class Explore : public ::testing::Test {
 protected:
  config::Folder folder_;
  const std::string out_ = folder_.path() + "/found";
  const std::string replay_ = out_ + "/failure-1.replay";
};

inline void expect_found(const std::string& text, const std::string& expression) {
  EXPECT_TRUE(std::regex_search(text, std::regex(expression))) << expression << "\n" << text;
}

}  // namespace verbatim::cli

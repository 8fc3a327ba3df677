// Slow: every scenario of the project with a complete capture.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/capture/judge.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::capture {
namespace {

TEST(CaptureSweep, every_packet_of_every_scenario_decodes) {
  std::vector<std::string> scenarios;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(VERBATIM_SOURCE_DIR) + "/scenarios")) {
    if (entry.path().extension() == ".json") scenarios.push_back(entry.path().string());
  }
  std::sort(scenarios.begin(), scenarios.end());
  ASSERT_FALSE(scenarios.empty());
  for (const std::string& scenario : scenarios) {
    std::printf("%s: ", scenario.substr(scenario.rfind('/') + 1).c_str());
    EXPECT_EQ(judge(support::quoted(scenario)).code, 0) << scenario;
  }
}

}  // namespace
}  // namespace verbatim::capture

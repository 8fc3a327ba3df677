// Programs built with ThreadSanitizer, by two compilers: they run, tell of the races that they have and of no others.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

// With more bits of randomness Linux may put libraries where ThreadSanitizer does not want them.
bool finds_its_place_without_layout() {
  int bits = 99;
  std::ifstream("/proc/sys/vm/mmap_rnd_bits") >> bits;
  return bits <= 28;
}

class ThreadSanitizer : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(program())) GTEST_SKIP() << GetParam() << " is not installed";
  }

  static std::string program() { return std::string(LITMUS_FOLDER) + "/handed_buffer-" + GetParam(); }

  static support::RunReport run(const std::string& variant, std::vector<std::string> options = {}) {
    support::RunRequest request;
    const std::string command = support::quoted(program()) + " " + variant;
    request.commands = {"server=" + command, "client=" + command + " server"};
    request.options = std::move(options);
    return support::run(request);
  }
};

TEST_P(ThreadSanitizer, what_a_completion_orders_is_no_race) {
  const support::RunReport usual = run("fixed");
  EXPECT_EQ(usual.code, 0) << usual.story();
  std::vector<std::vector<std::string>> ways = {{}, {"--call-by-call"}, {"--assume-missing", "pidfd"}};
  if (finds_its_place_without_layout()) ways.push_back({"--assume-missing", "layout"});
  for (const std::vector<std::string>& options : ways) {
    const support::RunReport again = run("fixed", options);
    EXPECT_EQ(again.digest(), usual.digest()) << again.story();
  }
}

TEST_P(ThreadSanitizer, a_race_is_told_with_its_lines) {
  const support::RunReport found = run("buggy");
  EXPECT_EQ(found.code, 1) << found.story();
  const std::string& told = found.errors("client");
  EXPECT_NE(told.find("WARNING: ThreadSanitizer: data race"), std::string::npos) << found.story();
  EXPECT_NE(told.find("handed_buffer.c:"), std::string::npos) << found.story();
  EXPECT_NE(found.err.find("ended with exit code 66"), std::string::npos) << found.story();
  EXPECT_EQ(run("buggy", {"--call-by-call"}).digest(), found.digest());
}

TEST_P(ThreadSanitizer, no_seed_makes_a_race_of_what_is_ordered) {
  const support::RunReport seeds = run("fixed", {"--freedom", "spec", "--seeds", "1..10"});
  EXPECT_EQ(seeds.code, 0) << seeds.story();
}

INSTANTIATE_TEST_SUITE_P(By, ThreadSanitizer, ::testing::Values("gcc", "clang"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace verbatim

// Programs built with sanitizers by two compilers run, and report their own mistakes and no others.
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

class Sanitizers : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string program(const std::string& name) { return std::string(LITMUS_FOLDER) + "/" + name + "-" + GetParam(); }

  void SetUp() override {
    if (!std::filesystem::exists(program("overrun"))) GTEST_SKIP() << GetParam() << " is not installed";
  }

  static support::RunReport run(const std::string& variant, std::vector<std::string> options = {}) {
    support::RunRequest request;
    const std::string command = support::quoted(program("handed_buffer")) + " " + variant;
    request.commands = {"server=" + command, "client=" + command + " server"};
    request.options = std::move(options);
    return support::run(request);
  }

  static support::RunReport run_overrun(const std::string& variant, std::vector<std::string> options = {}) {
    support::RunRequest request;
    request.commands = {"server=" + support::quoted(program("overrun")) + " " + variant};
    request.options = std::move(options);
    return support::run(request);
  }
};

TEST_P(Sanitizers, what_a_completion_orders_is_no_race) {
  const support::RunReport usual = run("fixed");
  EXPECT_EQ(usual.code, 0) << usual.story();
  std::vector<std::vector<std::string>> ways = {{}, {"--call-by-call"}, {"--assume-missing", "pidfd"}};
  if (finds_its_place_without_layout()) ways.push_back({"--assume-missing", "layout"});
  for (const std::vector<std::string>& options : ways) {
    const support::RunReport again = run("fixed", options);
    EXPECT_EQ(again.digest(), usual.digest()) << again.story();
  }
}

TEST_P(Sanitizers, a_race_is_told_with_its_lines) {
  const support::RunReport found = run("buggy");
  EXPECT_EQ(found.code, 1) << found.story();
  const std::string& told = found.errors("client");
  EXPECT_NE(told.find("WARNING: ThreadSanitizer: data race"), std::string::npos) << found.story();
  EXPECT_NE(told.find("handed_buffer.c:"), std::string::npos) << found.story();
  EXPECT_NE(found.err.find("ended with exit code 66"), std::string::npos) << found.story();
  EXPECT_EQ(run("buggy", {"--call-by-call"}).digest(), found.digest());
}

TEST_P(Sanitizers, no_seed_makes_a_race_of_what_is_ordered) {
  const support::RunReport seeds = run("fixed", {"--freedom", "spec", "--seeds", "1..10"});
  EXPECT_EQ(seeds.code, 0) << seeds.story();
}

// gcc's runtime of AddressSanitizer is a library that has to be the first of all, which the simulator's would be.
TEST_P(Sanitizers, a_write_behind_a_buffer_is_told_with_its_line) {
  const support::RunReport fixed = run_overrun("fixed");
  EXPECT_EQ(fixed.code, 0) << fixed.story();
  EXPECT_EQ(fixed.output("server"), "1\n") << fixed.story();
  const support::RunReport found = run_overrun("buggy");
  EXPECT_EQ(found.code, 1) << found.story();
  const std::string& told = found.errors("server");
  EXPECT_NE(told.find("AddressSanitizer: heap-buffer-overflow"), std::string::npos) << found.story();
  EXPECT_NE(told.find("overrun.c:14"), std::string::npos) << found.story();
  EXPECT_EQ(run_overrun("buggy", {"--call-by-call"}).digest(), found.digest());
}

INSTANTIATE_TEST_SUITE_P(By, Sanitizers, ::testing::Values("gcc", "clang"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace verbatim
